"""What is printed: tables and facts for people, JSON for programs; data to stdout, talk and warnings to stderr.

Whatever comes from elsewhere (a reply's text, a subject, a name) is printed with its control characters escaped, so
that no mail and no server can move the cursor, colour the screen or turn the direction of writing.
"""

import json
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import click


Json = dict[str, Any]

# In the `meta` of click's context: whoever asked for silence gets data and warnings alone.
QUIET: Final = "postroom.is_quiet"

# controls, formats (bidi marks among them), surrogates, private use, line and paragraph separators
_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_COLOURS: Final = {
    "sent": "green",
    "completed": "green",
    "passed": "green",
    "ok": "green",
    "failed": "red",
    "fail": "red",
    "warn": "yellow",
    "uncertain": "magenta",
    "partial": "yellow",
    "retry_scheduled": "yellow",
    "held": "yellow",
    "blocked": "yellow",
    "removed": "yellow",
    "active": "green",
    "paused": "yellow",
}
_GAP: Final = "  "
_SHORTEST: Final = 24  # columns that a cell keeps: an id, an instant, a reason


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its head, and what it shows of a row."""

    head: str
    cell: Callable[[Json], object]


def column(head: str, *path: str) -> Column:
    """A column that shows the value at this path of keys, or nothing where the path ends early."""
    return Column(head, lambda row: dig(row, *path))


def dig(value: object, *path: str) -> object:
    """The value at this path of keys; None where there is none."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def plain(value: object) -> str:
    """The value as one line of harmless text; None is an empty one."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.1f}"
        case list() | tuple():
            return ", ".join(plain(one) for one in value)
        case Mapping():
            return ", ".join(f"{plain(key)}={plain(one)}" for key, one in value.items())
        case _:
            return "".join(map(_harmless, str(value)))


def plain_text(text: str) -> str:
    """Text of several lines, each of them harmless."""
    return "\n".join(plain(line.rstrip("\r")) for line in text.split("\n"))


def table(rows: Iterable[Json], columns: Sequence[Column], *, is_whole: bool = False) -> None:
    """Print a table; columns that are empty in every row are left out.

    On a terminal the longest cells are cut until a line fits, but for `is_whole`; in a pipe nothing is.
    """
    room = None if is_whole or not sys.stdout.isatty() else shutil.get_terminal_size().columns
    for number, line in enumerate(_table_cells(rows, columns, room)):
        painted = [_paint_cell(cell, is_head=not number) for cell in line]
        click.echo(_GAP.join(painted).rstrip())


def table_lines(rows: Iterable[Json], columns: Sequence[Column]) -> list[str]:
    """The same as lines without colours."""
    return [_GAP.join(line).rstrip() for line in _table_cells(rows, columns)]


def _table_cells(
    rows: Iterable[Json], columns: Sequence[Column], room: int | None = None
) -> list[list[str]]:
    """Head and rows, each cell as wide as its column, and a line no wider than `room` if that can be."""
    cells = [[plain(one.cell(row)) for one in columns] for row in rows]
    used = [n for n in range(len(columns)) if any(line[n] for line in cells)]
    lines = [[columns[n].head for n in used], *([line[n] for n in used] for line in cells)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    if room is not None:
        most = _longest_cell(widths, room - len(_GAP) * (len(widths) - 1))
        widths = [min(width, most) for width in widths]
        lines = [[_shortened(cell, most) for cell in line] for line in lines]
    return [
        [cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)]
        for line in lines
    ]


def _longest_cell(widths: Sequence[int], room: int) -> int:
    """How wide a cell may be so that all columns have room; ids and words of ours are never cut."""
    most = max(widths, default=0)
    while most > _SHORTEST and sum(min(width, most) for width in widths) > room:
        most -= 1
    return most


def _shortened(cell: str, most: int) -> str:
    return cell if _width(cell) <= most else f"{cut(cell, most - 1)}…"


def facts(pairs: Mapping[str, object]) -> None:
    """Print names and values, one a line; those without a value are left out."""
    for name, value in _facts(pairs):
        click.echo(f"{click.style(name, dim=True)}{_GAP}{paint(value)}")


def facts_lines(pairs: Mapping[str, object]) -> list[str]:
    """The same as lines without colours."""
    return [f"{name}{_GAP}{value}" for name, value in _facts(pairs)]


def _facts(pairs: Mapping[str, object]) -> list[tuple[str, str]]:
    shown = {name: plain(value) for name, value in pairs.items() if value not in (None, "", [], {})}
    width = max(map(len, shown), default=0)
    return [(name.ljust(width), value) for name, value in shown.items()]


def cut(line: str, columns: int) -> str:
    """As much of a line as fits."""
    left = columns
    for place, character in enumerate(line):
        left -= _width(character)
        if left < 0:
            return line[:place]
    return line


def emit(document: object) -> None:
    """Print one JSON document, in ASCII."""
    click.echo(json.dumps(document, indent=2))


def data(line: str) -> None:
    """Print one line of data."""
    click.echo(line)


def is_quiet() -> bool:
    """Whether --quiet stands on the command line that is being run."""
    here = click.get_current_context(silent=True)
    return here is not None and QUIET in here.meta


def talk(line: str) -> None:
    """Say something to a person who wants to hear it."""
    if not is_quiet():
        click.echo(line, err=True)


def warn(line: str) -> None:
    """Say what is wrong, also to a person who wants to hear nothing else."""
    click.echo(line, err=True)


def paint(word: str) -> str:
    """The word, in the colour of its kind if it has one."""
    colour = _COLOURS.get(word)
    return click.style(word, fg=colour) if colour else word


def _harmless(character: str) -> str:
    if unicodedata.category(character) not in _UNSAFE:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _paint_cell(cell: str, *, is_head: bool) -> str:
    word = cell.rstrip()
    return (click.style(word, bold=True) if is_head else paint(word)) + cell[len(word) :]


def _width(text: str) -> int:
    # East Asian wide characters take two columns, combining ones none (UAX #11)
    return sum(
        0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in "WF")
        for one in text
    )
