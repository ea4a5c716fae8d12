"""Replies of many programs from a published collection, where it lies beside the checkout (issue [trust], 5)."""

from pathlib import Path
from typing import Final

import pytest

from postroom.inbound.newtext import find_new


CORPUS = next(
    (
        folder / "shared" / "corpus" / "replies"
        for folder in Path(__file__).resolve().parents
        if (folder / "shared" / "corpus" / "replies").is_dir()
    ),
    None,
)
pytestmark = pytest.mark.skipif(CORPUS is None, reason="the collection is not here")
EXACT_LEAST: Final = 0.85
# What we keep, and the collection does not.
DIFFERENT: Final = {
    "embedded_email_18": "a header with nothing above it: what stands below may be quoted, so it is not made to look new",
    "signatures": "thirty lines of telephones, and between them a sentence of three words that a person may have written",
}


def read(folder: str) -> dict[str, str]:
    """The texts of a folder by name."""
    paths = [] if CORPUS is None else sorted((CORPUS / folder).glob("*.txt"))
    return {path.stem: path.read_text("utf-8", errors="replace") for path in paths}


def test_what_is_new_is_what_the_collection_says() -> None:
    wanted = read("trimmed")
    found = {name: find_new(text).text for name, text in read("emails").items()}
    others = {name for name in found if found[name].split() != wanted[name].split()}
    assert others == DIFFERENT.keys()
    assert len(found) - len(others) >= EXACT_LEAST * len(found)


def test_no_word_of_a_reply_is_lost() -> None:
    wanted = read("trimmed")
    for name, text in read("emails").items():
        kept = find_new(text).text.split()
        for word in wanted[name].split():
            assert kept.count(word) >= wanted[name].split().count(word), name
