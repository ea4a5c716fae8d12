"""The shape of the code: no module over 300 lines."""

from pathlib import Path

import pytest


ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted((ROOT / "daemon").rglob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT / "daemon")))
def test_a_module_is_at_most_300_lines(module: Path) -> None:
    assert len(module.read_text("utf-8").splitlines()) <= 300
