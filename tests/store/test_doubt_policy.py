"""What a mailbox's `on_uncertain` does by itself in the store: when, to whom, how often, and by which rows."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant
from postroom.core.mailbox import OnUncertain
from postroom.core.reason import ReasonCode
from postroom.ports.changes import DoubtJudged, RowsWaiting, StateMoved
from postroom.ports.desk import Verdict
from postroom.ports.doubting import PolicyDone, PolicyTurn
from postroom.store.sqlite.admin_cancel import Cancelling
from postroom.store.sqlite.admin_retry import Resolving, Retrying
from postroom.store.sqlite.doubt_policy import Settling, SqliteDoubts
from postroom.store.sqlite.reads_deliveries import find_delivery
from support.desk_store import (
    ANN,
    NOW,
    database,
    event_types,
    memory,
    one,
    put,
    put_delivery,
    put_job,
    run,
    status,
)


S, R = DeliveryState, ReasonCode
RESEND, ASSUME = OnUncertain.RESEND, OnUncertain.ASSUME_SENT
LATER = Instant(NOW + 900 * SECOND)
NOTHING = PolicyDone(0, None)


@pytest.fixture
def conn() -> Iterator[sqlite3.Connection]:
    with memory() as opened:
        yield opened


def turn(kind: OnUncertain = RESEND, limit: int = 100, at: Instant = LATER) -> PolicyTurn:
    """Of doubts that are a quarter of an hour old."""
    return PolicyTurn("support", kind, Instant(at - 900 * SECOND), at, limit)


def test_a_policy_sends_again_once_for_ever(conn: sqlite3.Connection) -> None:
    (number,) = put_job(conn, S.UNCERTAIN, delivery={"attempts": 3, "series_attempts": 3})
    before = one(conn, number)
    done, changes = run(conn, Settling(turn()))
    assert done == PolicyDone(1, None)
    after = one(conn, number)
    assert (after["state"], after["reason_code"]) == (S.PENDING, R.POLICY_RESEND)
    assert (after["resends"], after["doubts"], after["marked_at"]) == (1, 1, None)
    assert (after["due_at"], after["attempts"], after["series_attempts"]) == (LATER, 3, 0)
    for name in ("message_id", "date_at", "head", "thread"):
        assert after[name] == before[name]
    assert status(conn, number) is None
    found = find_delivery(conn, number)
    assert found is not None
    last = found.history[-1]
    assert (last.before, last.after, last.by) == (S.UNCERTAIN, S.PENDING, "policy")
    assert last.reason_code is R.POLICY_RESEND
    lane = found.lane
    assert changes == (
        StateMoved("support", lane, S.UNCERTAIN, S.PENDING, R.POLICY_RESEND, 1),
        RowsWaiting("support", lane, LATER, "example.com"),
        DoubtJudged(number, 1, "support", S.PENDING, "policy", R.POLICY_RESEND),
    )
    conn.execute(
        "UPDATE delivery SET state = 'uncertain', marked_at = ?, settled_at = ?", (LATER, LATER)
    )
    much_later = Instant(LATER + 86_400 * SECOND)
    assert run(conn, Settling(turn(at=much_later))) == (NOTHING, ())
    assert one(conn, number)["state"] == S.UNCERTAIN


def test_a_policy_takes_for_sent(conn: sqlite3.Connection) -> None:
    (number,) = put_job(conn, S.UNCERTAIN)
    done, _ = run(conn, Settling(turn(ASSUME)))
    assert done == PolicyDone(1, None)
    found = find_delivery(conn, number)
    assert found is not None
    assert (found.state, found.settled_by) == (S.SENT, "policy")
    assert (found.reason_code, found.doubts) == (R.POLICY_ASSUME_SENT, 1)
    assert (found.history[-1].by, found.history[-1].reason_code) == ("policy", found.reason_code)
    assert event_types(conn) == ["delivery.sent"]
    assert status(conn, number) == "completed"


@pytest.mark.parametrize("kind", [RESEND, ASSUME])
def test_a_doubt_that_is_younger_waits_and_tells_since_when(
    conn: sqlite3.Connection, kind: OnUncertain
) -> None:
    old, young = put_job(conn, S.UNCERTAIN, S.UNCERTAIN)
    since = Instant(NOW + 1)
    conn.execute("UPDATE delivery SET settled_at = ? WHERE number = ?", (since, young))
    done, _ = run(conn, Settling(turn(kind)))
    assert done == PolicyDone(1, since)
    assert [one(conn, number)["state"] == S.UNCERTAIN for number in (old, young)] == [False, True]


def test_many_are_decided_in_bites_the_oldest_first(conn: sqlite3.Connection) -> None:
    numbers = put_job(conn, *[S.UNCERTAIN] * 5)
    for place, number in enumerate(reversed(numbers)):
        conn.execute(
            "UPDATE delivery SET settled_at = ? WHERE number = ?", (NOW - 10 + place, number)
        )
    done, _ = run(conn, Settling(turn(limit=2)))
    assert done == PolicyDone(2, Instant(NOW - 8))
    states = [one(conn, number)["state"] for number in numbers]
    assert states == [S.UNCERTAIN] * 3 + [S.PENDING] * 2


@pytest.mark.parametrize("state", sorted(set(S) - {S.UNCERTAIN}))
@pytest.mark.parametrize("kind", [RESEND, ASSUME])
def test_only_doubt_is_decided(conn: sqlite3.Connection, state: S, kind: OnUncertain) -> None:
    put_job(conn, state)
    assert run(conn, Settling(turn(kind))) == (NOTHING, ())


def test_other_mailboxes_are_left_alone(conn: sqlite3.Connection) -> None:
    put_job(conn, S.UNCERTAIN, mailbox_id="sales")
    assert run(conn, Settling(turn())) == (NOTHING, ())


RULED_OUT = {
    "its not_after is over": ({"not_after": LATER}, R.EXPIRED),
    "suppressed": ({"recipient_key": "gone@example.com"}, R.RECIPIENT_SUPPRESSED),
    "taken back too late": ({"cancel_asked": 1}, R.CANCELLED),
}


@pytest.mark.parametrize(("delivery", "reason"), RULED_OUT.values(), ids=RULED_OUT.keys())
def test_what_may_not_be_sent_any_more_is_left_in_doubt_and_not_looked_at_again(
    conn: sqlite3.Connection, delivery: dict[str, object], reason: R
) -> None:
    conn.execute(
        """INSERT INTO suppression (mailbox_id, address_key, address, reason, by, created_at)
           VALUES ('', 'gone@example.com', 'gone@example.com', 'x', 'y', 0)"""
    )
    (number,) = put_job(conn, S.UNCERTAIN, delivery=delivery)
    done, changes = run(conn, Settling(turn()))
    assert done == PolicyDone(1, None)
    assert changes == (DoubtJudged(number, 1, "support", S.UNCERTAIN, "policy", reason),)
    found = find_delivery(conn, number)
    assert found is not None
    assert (found.state, found.no_resend, found.resends) == (S.UNCERTAIN, reason, 0)
    assert run(conn, Settling(turn())) == (NOTHING, ())
    assert run(conn, Settling(turn(ASSUME)))[0] == PolicyDone(1, None)
    assert one(conn, number)["state"] == S.SENT


def test_a_cancel_of_what_is_in_doubt_keeps_a_policy_from_sending_it_again(
    conn: sqlite3.Connection,
) -> None:
    (number,) = put_job(conn, S.UNCERTAIN)
    run(conn, Cancelling((number,), ANN, NOW))
    run(conn, Settling(turn()))
    row = one(conn, number)
    assert (row["state"], row["no_resend"]) == (S.UNCERTAIN, R.CANCELLED)


@pytest.mark.parametrize("way", ["sent again by hand", "called failed, and retried"])
def test_the_second_doubt_of_a_delivery_is_never_sent_again_by_itself(
    conn: sqlite3.Connection, way: str
) -> None:
    (number,) = put_job(conn, S.UNCERTAIN)
    if way == "sent again by hand":
        run(conn, Resolving(number, ANN, NOW, Verdict.RESEND))
    else:
        run(conn, Resolving(number, ANN, NOW, Verdict.FAILED))
        run(conn, Retrying(number, ANN, NOW))
    conn.execute(
        "UPDATE delivery SET state = 'uncertain', marked_at = ?, settled_at = ?", (NOW, NOW)
    )
    assert run(conn, Settling(turn())) == (NOTHING, ())


@pytest.mark.parametrize("kind", [RESEND, ASSUME])
def test_a_doubt_from_the_future_begins_now(conn: sqlite3.Connection, kind: OnUncertain) -> None:
    """The clock was set back after it began: it waits no longer than any other."""
    (number,) = put_job(conn, S.UNCERTAIN, at=LATER)
    done, _ = run(conn, Settling(turn(kind, at=NOW)))
    assert done == PolicyDone(0, NOW)
    assert one(conn, number)["settled_at"] == NOW
    assert run(conn, Settling(turn(kind)))[0] == PolicyDone(1, None)


@pytest.mark.parametrize("kind", [RESEND, ASSUME])
def test_what_is_decided_is_found_by_an_index_and_nothing_else_is_read(
    conn: sqlite3.Connection, kind: OnUncertain
) -> None:
    """A thousand that were ruled out cost nothing: what is not in the index is not read."""
    (first,) = put_job(conn, S.UNCERTAIN)
    given = {"mailbox_id": "support", "created_at": NOW, "at": NOW}
    for _ in range(1000):
        put_delivery(conn, 1, S.UNCERTAIN, {**given, "delivery": {"no_resend": "expired"}})
    conn.execute("UPDATE delivery SET state = 'sent' WHERE number > ? AND number % 2", (first,))
    conn.execute("ANALYZE")
    steps: list[int] = []
    conn.set_progress_handler(lambda: steps.append(1), 100)
    done, _ = run(conn, Settling(turn(kind, limit=1)))
    conn.set_progress_handler(None, 0)
    assert done.done == 1
    assert len(steps) < 40  # some thousand steps of SQLite; a scan of all has tens of thousands


async def test_the_outbox_carries_policies_out(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        await put(opened, *[S.UNCERTAIN] * 3)
        doubts = SqliteDoubts(opened)
        wanted = turn(ASSUME, limit=2)
        assert await doubts.settle_due(wanted) == PolicyDone(2, NOW)
        assert await doubts.settle_due(replace(wanted, limit=9)) == PolicyDone(1, None)
