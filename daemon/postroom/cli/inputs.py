"""Files and words that are named on the command line."""

import difflib
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import click

from postroom.cli.paper import plain


class _File(click.Path):
    """A file that can be read; one that can not exits 66, as sysexits has it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as problem:
            where = param.opts[0] if param is not None else ""
            raise click.FileError(str(value), f"{where}: {problem.message}") from problem


class _Words(click.Choice[str]):
    """Words of a list that may be too long for a sentence; who misses one is told all of them, the nearest first."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        given, listed = str(value), ", ".join(self.choices)
        near = difflib.get_close_matches(given, self.choices, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        return f"'{plain(given)}' is none of the words.{hint} There are: {listed}."


class Seconds(click.FloatRange):
    """So many seconds; what has no end, or is no number, is none."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        found: float = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"'{plain(value)}' is no number of seconds.", param, ctx)
        return found


def words(known: Iterable[str]) -> click.Choice[str]:
    """The type of an option that takes one of these."""
    return _Words([str(one) for one in known])


FILE: Final = _File(exists=True, dir_okay=False, readable=True, path_type=Path)
OR_STDIN: Final = _File(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
TIMEOUT: Final = click.option(
    "--timeout",
    default=60.0,
    type=Seconds(0),
    metavar="SECONDS",
    help="How long --wait waits (60).",
)


def read_text(file: Path) -> str:
    """The text of a UTF-8 file; `-` is stdin."""
    raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        what = f"{file} is not UTF-8 text: {problem}."
        raise click.UsageError(what) from problem
