"""The pages of the documentation, and the tables in them."""

import re

from support.config_files import ROOT


DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md")))
ROW = re.compile(r"\| `([^`]+)` \| (.*) \|")
ENTRY = re.compile(r"^\*\*(.+?)\*\*", re.MULTILINE)


def read_page(page: str) -> str:
    return (DOCS / page).read_text("utf-8")


def read_table(page: str, first_column: str) -> dict[str, list[str]]:
    """The table of a page whose first column is called so: its other cells by the first."""
    _, found, after = read_page(page).partition(f"\n| {first_column} |")
    assert found
    rows = (ROW.fullmatch(line) for line in after.partition("\n\n")[0].splitlines()[2:])
    return {row[1]: row[2].split(" | ") for row in rows if row}
