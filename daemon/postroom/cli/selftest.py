"""`postroom selftest`: the proof, run by whoever wants it, on the machine where it counts."""

from typing import Final

import click

from postroom.cli.desk import JSON_OPTION
from postroom.cli.ending import signals_end_it
from postroom.cli.exits import Exit
from postroom.cli.paper import Json, data, emit, is_quiet, paint, plain
from postroom.cli.volume import QUIET_OPTION
from postroom.client.host import Host
from postroom.selftest.row import Row


_SHORT: Final = "FALLS SHORT"
_WIDTH: Final = len(_SHORT) + 2
_CHANCE: Final = 8  # hexadecimal digits of a seed of our own


@click.command()
@click.option("--only", multiple=True, metavar="WORDS", help="Rows with these words in their name.")
@click.option(
    "--runs",
    type=click.IntRange(min=0),
    default=0,
    help="As many random runs beside, of ten deaths each.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="The seed of the random runs; printed, to have the same chance again.",
)
@click.option("--keep", "is_kept", is_flag=True, help="Leave every state directory.")
@JSON_OPTION
@QUIET_OPTION
def selftest(
    only: tuple[str, ...], runs: int, seed: int | None, *, is_kept: bool, is_json: bool
) -> int:
    """Kill real daemons at every commit, and count what was sent.

    On this machine alone: no network, no settings, no running daemon is touched. Exits 1 when anything was not as
    promised; what is left of that is named.
    """
    from postroom.selftest.run import Wish, find_names, run  # noqa: PLC0415 - brings the whole daemon

    host = Host()
    began_s = host.monotonic_s()
    if seed is None:
        seed = int(host.mint_key()[:_CHANCE], 16)
    names = find_names()
    if only and not runs and not any(word in name for name in names for word in only):
        listed = "\n  ".join(names)
        problem = f"No row has such words in its name. There are:\n  {listed}"
        raise click.UsageError(problem)
    wish = Wish(only=only, runs=runs, seed=seed, is_kept=is_kept)
    with signals_end_it():
        rows = run(wish, (lambda _: None) if is_json else _tell)
    short = [row for row in rows if not row.is_ok]
    took_s = round(host.monotonic_s() - began_s, 1)
    if is_json:
        emit(
            {
                "ok": bool(rows) and not short,
                "seed": seed,
                "took_s": took_s,
                "rows": [_written(row, is_kept=is_kept) for row in rows],
            }
        )
    else:
        fell = f"{len(short)} fell short" if short else "all as promised"
        data(f"\n{len(rows)} rows in {took_s:.0f} s: {fell if rows else 'there is none such'}.")
    return Exit.OK if rows and not short else Exit.FOUND


def _tell(row: Row) -> None:
    if row.is_ok:
        if not is_quiet():
            data(f"{paint('ok')}{' ' * (_WIDTH - len('ok'))}{plain(row.name)}")
        return
    data(f"{click.style(_SHORT, fg='red')}  {plain(row.name)}")
    margin = " " * _WIDTH
    data(f"{margin}expected  {plain(row.expected)}")
    seen, *more = row.seen.splitlines() or [""]
    data(f"{margin}seen      {plain(seen)}")
    for line in more:
        data(f"{margin}          {plain(line)}")
    if row.folder:
        data(f"{margin}kept in   {plain(row.folder)}")


def _written(row: Row, *, is_kept: bool) -> Json:
    return {
        "name": row.name,
        "ok": row.is_ok,
        "expected": row.expected,
        "seen": row.seen,
        "cells": list(row.cells),
        "kept_in": row.folder if row.folder and (is_kept or not row.is_ok) else None,
    }
