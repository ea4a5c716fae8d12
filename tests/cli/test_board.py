"""The figures as a person reads them: in which order, in which units, and nothing where there is nothing to say."""

from typing import Any

import pytest

from postroom.cli.board import Sort, boards, headline
from postroom.cli.paper import cut, table_lines
from postroom.cli.top import screen_lines
from support.cli_daemon import STATS


EMPTY = {
    "at": "2026-11-30T07:00:00.000000Z",
    "started_at": "2026-11-30T07:00:00.000000Z",
    "in_flight": 0,
    "slots": 200,
    "depth": {},
    "oldest_due_age_s": 0.0,
    "outcomes": {},
    "mailboxes": {},
}


def box(waiting: int, age_s: float, sent: int) -> dict[str, Any]:
    return {
        "depth": {"high": {"pending": waiting, "sent": 1_000}},
        "oldest_due_age_s": {"high": age_s},
        "outcomes": {},
        "last_minute": {"accepted": 0, "sent": sent, "failed": 0, "deferred": 0},
        "paused_by": None,
    }


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        (Sort.NAME, ["a", "b", "c"]),
        (Sort.WAITING, ["b", "a", "c"]),
        (Sort.DUE, ["c", "a", "b"]),
        (Sort.SENT, ["a", "c", "b"]),
    ],
)
def test_mailboxes_stand_in_the_order_that_was_asked_for(sort: Sort, names: list[str]) -> None:
    mailboxes = {"c": box(1, 9, 2), "b": box(7, 0, 0), "a": box(3, 4, 8)}
    first = boards({**EMPTY, "mailboxes": mailboxes}, sort)[0]
    assert [row["mailbox"] for row in first.rows] == names


def test_of_an_idle_daemon_there_is_next_to_nothing_to_say() -> None:
    assert boards(EMPTY) == ()
    said = {name for name, value in headline(EMPTY).items() if value}
    assert said == {"since", "under way", "longest due"}


def test_of_an_older_daemon_what_it_tells_is_shown() -> None:
    older = {name: STATS[name] for name in EMPTY}
    lines = list(screen_lines(older, Sort.SENT))
    assert any(line.startswith("support  high") for line in lines)


@pytest.mark.parametrize(
    ("size_bytes", "told"),
    [
        (0, "0 B"),
        (1_023, "1023 B"),
        (1_024, "1.0 KiB"),
        (50 << 30, "50.0 GiB"),
        (1 << 60, "1048576.0 TiB"),
    ],
)
def test_sizes_are_told_in_units(size_bytes: int, told: str) -> None:
    said = headline({**EMPTY, "store": {"commits": 1, "wal_bytes": size_bytes}})
    assert f"log={told}" in str(said["store"])


def test_no_stranger_moves_the_cursor() -> None:
    assert not any("\x1b" in line or "\u202e" in line for line in screen_lines(STATS, Sort.NAME))


def test_a_line_is_cut_by_the_columns_that_it_takes() -> None:
    assert [cut("a漢字b", width) for width in range(7)] == [
        "",
        "a",
        "a",
        "a漢",
        "a漢",
        "a漢字",
        "a漢字b",
    ]


def test_a_table_without_colours_has_none() -> None:
    (depths, *_) = boards(STATS)
    assert table_lines(depths.rows, depths.columns)[0].startswith("MAILBOX  LANE")
