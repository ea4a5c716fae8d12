"""The inputs that once broke a promise, and those to begin with: each target still keeps its promises for them."""

from pathlib import Path

import pytest

from fuzz.every import TARGETS
from postroom.inbound.wire import Understood, read_answer


CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_found_stays_mended(path: Path) -> None:
    TARGETS[path.parent.name](path.read_bytes())


def test_every_target_has_inputs_and_every_input_a_target() -> None:
    assert {path.parent.name for path in FILES} == set(TARGETS)


def test_what_a_parser_answers_today_is_among_the_beginnings() -> None:
    assert isinstance(read_answer((CORPUS / "wire" / "mail").read_bytes()), Understood)
