"""The matrix is full: whatever the store can commit has a play, and what was not reached is told."""

import inspect
from typing import Protocol, get_type_hints

import pytest

from postroom.selftest import matrix, watching
from postroom.selftest.door import Stage
from postroom.selftest.matrix import PLAYS, find_cells, is_full
from postroom.selftest.row import Row
from postroom.selftest.watching import RECOVER, Side, find_points
from postroom.store.sqlite.admin import SqliteAdmin
from postroom.store.sqlite.alerts import SqliteAlerts
from postroom.store.sqlite.digests import SqliteDigests
from postroom.store.sqlite.doubt_policy import SqliteDoubts
from postroom.store.sqlite.inbox import SqliteConversations, SqliteInbox
from postroom.store.sqlite.leases import SqliteLeases
from postroom.store.sqlite.outbox import Outbox
from postroom.store.sqlite.outbox_accept import SqliteIntake
from postroom.store.sqlite.outbox_loop import SqliteLoopStore
from postroom.store.sqlite.reader import SqliteReader


STORES = {
    "intake": SqliteIntake,
    "loop": SqliteLoopStore,
    "reader": SqliteReader,
    "admin": SqliteAdmin,
    "leases": SqliteLeases,
    "inbox": SqliteInbox,
    "doubts": SqliteDoubts,
    "alerts": SqliteAlerts,
    "digests": SqliteDigests,
    "conversations": SqliteConversations,
}


def as_promised() -> list[Row]:
    return [Row(one.name, "so", "so", one.cells) for one in find_cells()]


def test_every_commit_point_has_one_play() -> None:
    assert sorted(play.point for play in PLAYS) == sorted(find_points())


def test_the_points_of_the_internals_are_among_them() -> None:
    named = {
        "intake.accept",
        "loop.start",
        "loop.mark",
        "loop.finish",
        "inbox.receive",
        "inbox.publish",
        "leases.acquire",
        "leases.complete",
        RECOVER,
    }
    assert named <= set(find_points())


@pytest.mark.parametrize("field", STORES)
def test_what_is_no_commit_point_never_writes(field: str) -> None:
    points = {point for point in find_points() if point.startswith(f"{field}.")}
    for name, method in inspect.getmembers(STORES[field], inspect.iscoroutinefunction):
        if f"{field}.{name}" not in points and not name.startswith("_"):
            assert ".write(" not in inspect.getsource(method), name


def test_every_port_of_the_store_is_watched() -> None:
    assert set(STORES) == set(watching._ports())
    hints = get_type_hints(Outbox)
    ports = {name for name, hint in hints.items() if hint.__module__.startswith("postroom.ports")}
    assert ports - {"opened"} == set(watching._ports())


def test_a_new_method_of_a_port_is_a_commit_point_without_anybodys_doing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Novelty(Protocol):
        async def find_it(self) -> int: ...

        async def store_it(self) -> None: ...

    ports = {**watching._ports(), "novelty": Novelty}
    monkeypatch.setattr(watching, "_ports", lambda: ports)
    assert "novelty.store_it" in find_points()
    assert "novelty.find_it" not in find_points()
    row = is_full(as_promised())
    assert not row.is_ok
    assert "not reached: novelty.store_it after body" in row.seen


def test_a_matrix_that_was_played_is_full() -> None:
    row = is_full(as_promised())
    assert row.is_ok
    assert row.expected == f"{len(find_points()) * len(Side) * len(Stage)} cells"


def test_a_cell_that_fell_short_is_none_that_was_reached() -> None:
    first, *others = as_promised()
    row = is_full([Row(first.name, "so", "not so", first.cells), *others])
    assert not row.is_ok
    assert all(cell in row.seen for cell in first.cells)


def test_before_the_mark_a_dialogue_goes_once_and_after_it_is_in_doubt() -> None:
    told = dict.fromkeys(Stage, "sent, 1 copy")
    assert told | {Stage.DOT: "uncertain, 1 copy"} == matrix.STAGES
