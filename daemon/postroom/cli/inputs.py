"""Files that are named on the command line."""

import sys
from pathlib import Path
from typing import Any, Final

import click


class _File(click.Path):
    """A file that can be read; one that can not exits 66, as sysexits has it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as problem:
            where = param.opts[0] if param is not None else ""
            raise click.FileError(str(value), f"{where}: {problem.message}") from problem


FILE: Final = _File(exists=True, dir_okay=False, readable=True, path_type=Path)
OR_STDIN: Final = _File(exists=True, dir_okay=False, allow_dash=True, path_type=Path)


def read_text(file: Path) -> str:
    """The text of a UTF-8 file; `-` is stdin."""
    raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        what = f"{file} is not UTF-8 text: {problem}."
        raise click.UsageError(what) from problem
