"""The selftest finds what is broken: a daemon that loses, doubles or forgets makes a row that falls short."""

import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.selftest import ugly
from postroom.selftest.house import House
from postroom.selftest.row import Row
from postroom.selftest.run import Wish, run
from postroom.selftest.ugly import Ugly
from support.broken_nursery import WAYS


BROKEN = {
    "loses a job": (Wish(only=("kill after intake.accept",)), "not stored"),
    "skips the mark": (Wish(only=("kill before leases.make_consumer",)), "dot: sent, 2 copies"),
    "sends twice": (Wish(only=("the relay accepts",)), "wire: 2 copies"),
    "sends twice by chance": (Wish(only=("no row",), runs=1), "2 copies"),
    "stumbles": (Wish(only=("a play that stumbles",)), "TypeError: nothing is there"),
}


ROOT = Path(__file__).parents[2]
KEPT = "is kept"
ALL_WELL = Wish(only=("payload",), is_kept=True)


def play(how: str) -> Row:
    """The one row, of daemons that are broken in this way, or of one that is not and leaves what it has."""
    wish = BROKEN[how][0] if how in BROKEN else ALL_WELL
    if how in WAYS:
        wish = replace(wish, command=(sys.executable, "-m", "support.broken_nursery", how))
    (row,) = run(wish, lambda _: None)
    return row


def stumble(_: House) -> str:
    """A play that was not thought through."""
    message = "nothing is there"
    raise TypeError(message)


@pytest.fixture(scope="module")
def rows() -> Iterator[dict[str, Row]]:
    """All of them side by side, since most of the time of each is waiting."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="pr-") as name:
        patch.setattr(tempfile, "tempdir", name)
        # Where the broken ones lie, and what they break.
        patch.setenv("PYTHONPATH", os.pathsep.join(str(ROOT / one) for one in ("tests", "daemon")))
        stumbling = Ugly("a play that stumbles", "so", stumble)
        patch.setattr(ugly, "TRIALS", (*ugly.TRIALS, stumbling))
        with ThreadPoolExecutor(len(BROKEN) + 1) as pool:
            every = (*BROKEN, KEPT)
            yield dict(zip(every, pool.map(play, every), strict=True))


@pytest.mark.parametrize("how", BROKEN)
def test_a_daemon_that_breaks_a_promise_falls_short(how: str, rows: dict[str, Row]) -> None:
    row, (_, seen) = rows[how], BROKEN[how]
    assert not row.is_ok
    assert seen in row.seen


def test_what_fell_short_and_what_is_to_be_kept_is_there_for_nobody_else(
    rows: dict[str, Row],
) -> None:
    assert rows[KEPT].is_ok
    for row in rows.values():
        folder = Path(row.folder)
        assert (folder / "state").is_dir()
        assert not (folder / "log").exists() or (folder / "log").stat().st_mode & 0o777 == 0o600
        assert folder.parent.stat().st_mode & 0o777 == 0o700
        assert folder.stat().st_mode & 0o777 == 0o700
