"""A store that was put in place from a copy: nothing goes by itself, and nothing that was given out comes again."""

from pathlib import Path

import pytest

from postroom.core.alert import Alert, AlertKey, AlertKind, AlertScope, Cause
from postroom.core.alertstate import Moves
from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.record import DeliveryRecord
from postroom.ports.accepting import Accepted, Replayed
from postroom.ports.desk import Actor, BulkResult, DeliveryFilter, Hold, WrongState
from postroom.store.sqlite import recovery
from postroom.store.sqlite.outbox import Outbox
from support.copied import ELSEWHERE, copy_store, every_state
from support.lease_desk import claim_of, lease_desk
from support.store_host import NOON, Faults, outbox_in
from support.store_jobs import new_job


S = DeliveryState
LEAP = 1 << 32
ANN = Actor(1000)


async def found(outbox: Outbox, number: int) -> DeliveryRecord:
    record = await outbox.reader.find_delivery(number)
    assert record is not None
    return record


async def test_a_long_queue_is_held_in_steps_that_memory_has_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "_STEP", 3)
    async with outbox_in(tmp_path / "old") as outbox:
        for number in range(8):
            await outbox.intake.accept(new_job(outbox.intake, key=f"key-{number}"))
        copy_store(tmp_path / "old", tmp_path / "new")
    faults = Faults()
    async with outbox_in(tmp_path / "new", rules=ELSEWHERE, faults=faults) as outbox:
        assert outbox.opened.restored == 8
        assert await outbox.reader.find_holds() == (Hold("support", HoldReason.RESTORED, 8),)
    assert faults.statements.count(recovery._HOLD) == 3


async def test_what_was_not_at_its_end_is_held_and_what_was_is_as_it_was(tmp_path: Path) -> None:
    async with outbox_in(tmp_path / "old") as outbox:
        numbers = await every_state(outbox)
        copy_store(tmp_path / "old", tmp_path / "new")
    async with outbox_in(tmp_path / "new", rules=ELSEWHERE) as outbox:
        assert outbox.opened.restored == 3
        stands = {state: await found(outbox, number) for state, number in numbers.items()}
        assert {state: one.state for state, one in stands.items()} == {
            S.PENDING: S.HELD,
            S.RETRY_SCHEDULED: S.HELD,
            S.SENDING: S.HELD,
            S.UNCERTAIN: S.UNCERTAIN,
            S.SENT: S.SENT,
            S.FAILED: S.FAILED,
        }
        for state in (S.PENDING, S.RETRY_SCHEDULED, S.SENDING):
            assert stands[state].hold_reason is HoldReason.RESTORED
            assert stands[state].crashes == 0
            assert (stands[state].history[-1].after, stands[state].history[-1].by) == (
                S.HELD,
                "recovery",
            )
        assert await outbox.reader.find_holds() == (Hold("support", HoldReason.RESTORED, 3),)


async def test_what_was_held_before_is_held_by_the_restore_now(tmp_path: Path) -> None:
    """Its mailbox may have come back since, and the mail gone."""
    async with outbox_in(tmp_path / "old") as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        await outbox.admin.hold_missing_mailboxes(frozenset({"support"}), NOON)
        await outbox.admin.hold_missing_mailboxes(frozenset(), NOON)
        assert (await found(outbox, 1)).hold_reason is HoldReason.MAILBOX_REMOVED
        copy_store(tmp_path / "old", tmp_path / "new")
    async with outbox_in(tmp_path / "new") as outbox:
        assert outbox.opened.restored == 1
        await outbox.admin.hold_missing_mailboxes(frozenset({"support"}), NOON)
        stands = await found(outbox, 1)
        assert (stands.state, stands.hold_reason) == (S.HELD, HoldReason.RESTORED)
        assert stands.reason_code is None


async def test_no_policy_sends_a_doubt_again_that_may_have_been_sent_again_since(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path / "old") as outbox:
        numbers = await every_state(outbox)
        copy_store(tmp_path / "old", tmp_path / "new")
    async with outbox_in(tmp_path / "new") as outbox:
        sql = "SELECT resends FROM delivery WHERE number = ?"
        (resends,) = await outbox.database.read(
            lambda conn: conn.execute(sql, (numbers[S.UNCERTAIN],)).fetchone()
        )
        assert resends == 1


async def test_no_number_that_was_given_after_the_copy_comes_again(tmp_path: Path) -> None:
    async with outbox_in(tmp_path / "old") as outbox:
        await every_state(outbox)
        copy_store(tmp_path / "old", tmp_path / "new")
        given = [outbox.intake.reserve(1, 1, 1) for _ in range(100)][-1]
        old_log, _, old_newest = await outbox.reader.event_span()
        old_instance = outbox.opened.instance_id
    async with outbox_in(tmp_path / "new") as outbox:
        first = outbox.intake.reserve(1, 1, 1)
        assert all(new > old for new, old in zip(first, given, strict=True))
        assert all(LEAP < new < 2 * LEAP for new in first)
        log, _, newest = await outbox.reader.event_span()
        assert log != old_log
        assert outbox.opened.instance_id != old_instance
        assert newest > old_newest + LEAP
        # The doubt that the start itself found is told with a number of the new log.
        events = await outbox.reader.find_events(old_newest, 10)
        assert [event.type for event in events] == ["delivery.uncertain"]
        assert events[0].seq > LEAP
        done = await outbox.intake.accept(new_job(outbox.intake))
        assert isinstance(done, Accepted)
        stored = (new_job(outbox.intake).number, done.deliveries[0].number)
        assert min(stored) > LEAP
    async with outbox_in(tmp_path / "new") as outbox:
        assert outbox.opened.restored is None
        assert outbox.intake.reserve(1, 1, 1)[0] < 2 * LEAP
        assert (await outbox.reader.event_span())[0] == log


async def test_fences_rise_over_a_restore_also_where_none_was_granted_before(
    tmp_path: Path,
) -> None:
    async with lease_desk(tmp_path / "old") as desk:
        first, second = await desk.thread(), await desk.thread()
        await desk.event(first)
        await desk.event(second)
        before = await desk.one()
        copy_store(tmp_path / "old", tmp_path / "new")
        await desk.complete(before)
        lost = await desk.one()
        assert lost.thread.number == second
    async with lease_desk(tmp_path / "new") as desk:
        leases = await desk.lease(max_threads=2)
        assert {one.thread.number: one.fence for one in leases} == {
            first: LEAP + before.fence + 1,
            second: LEAP + 1,
        }
        assert min(one.number for one in leases) > LEAP
        assert claim_of(before) not in map(claim_of, leases)


async def test_what_waits_for_consumers_what_stands_and_what_was_told_is_as_it_was(
    tmp_path: Path,
) -> None:
    key = AlertKey(AlertKind.DISK_LOW, AlertScope.DAEMON, "")
    alert = Alert(key, NOON, 5, 10, Cause.DISK)
    async with lease_desk(tmp_path / "a") as desk:
        await desk.lease()
        thread = await desk.thread()
        await desk.event(thread)
        await desk.event(thread)
        (raised,) = await desk.outbox.alerts.move(Moves((alert,)), NOON)
        await desk.outbox.digests.note({"support": NOON})
        copy_store(tmp_path / "a", tmp_path / "b")
    async with outbox_in(tmp_path / "b", rules=ELSEWHERE) as outbox:
        (waiting,) = await outbox.leases.find_waiting(NOON)
        assert (waiting.consumer, waiting.events) == ("agent", 2)
        assert await outbox.alerts.find_raised() == (raised,)
        assert await outbox.digests.find_told() == {"support": NOON}
        assert await outbox.alerts.move(Moves((), (raised,)), NOON) == ()
        _, _, newest = await outbox.reader.event_span()
        assert newest > LEAP


async def test_a_key_is_answered_as_before(tmp_path: Path) -> None:
    async with outbox_in(tmp_path / "old") as outbox:
        first = await outbox.intake.accept(new_job(outbox.intake, key="k"))
        assert isinstance(first, Accepted)
        copy_store(tmp_path / "old", tmp_path / "new")
    async with outbox_in(tmp_path / "new") as outbox:
        again = await outbox.intake.accept(new_job(outbox.intake, key="k"))
        assert isinstance(again, Replayed)
        assert again.number == 1


async def test_released_it_waits_in_a_new_series_and_cancelled_it_is_gone(tmp_path: Path) -> None:
    async with outbox_in(tmp_path / "old") as outbox:
        numbers = await every_state(outbox)
        copy_store(tmp_path / "old", tmp_path / "new")
    async with outbox_in(tmp_path / "new") as outbox:
        admin, restored = outbox.admin, DeliveryFilter(hold_reason=HoldReason.RESTORED)
        one = await admin.release(numbers[S.RETRY_SCHEDULED], ANN, NOON)
        assert isinstance(one, DeliveryRecord)
        assert (one.state, one.hold_reason, one.due_at) == (S.PENDING, None, NOON)
        assert (one.attempts, one.series_attempts) == (1, 0)
        assert one.history[-1].by == "uid:1000"
        dry = await admin.release_deliveries(restored, ANN, NOON, dry_run=True, limit=10)
        assert dry == BulkResult(2, 0)
        some = await admin.release_deliveries(restored, ANN, NOON, dry_run=False, limit=1)
        assert some == BulkResult(2, 1)
        rest = await admin.cancel_deliveries(restored, ANN, NOON, dry_run=False, limit=10)
        assert rest == BulkResult(1, 1)
        page = await outbox.reader.find_deliveries(restored, None, 10)
        assert (page.items, await outbox.reader.find_holds()) == ((), ())
        states = [(await found(outbox, n)).state for n in numbers.values()]
        assert states.count(S.PENDING) == 2
        assert states.count(S.CANCELLED) == 1


@pytest.mark.parametrize("wrong", ["nothing", "not held", "mailbox gone"])
async def test_what_can_not_be_released_stays(tmp_path: Path, wrong: str) -> None:
    async with outbox_in(tmp_path / "old") as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        if wrong == "mailbox gone":
            await outbox.admin.hold_missing_mailboxes(frozenset({"support"}), NOON)
            await outbox.admin.hold_missing_mailboxes(frozenset(), NOON)
        number = 7 if wrong == "nothing" else 1
        answer = await outbox.admin.release(number, ANN, NOON)
        if wrong == "nothing":
            assert answer is None
        else:
            assert isinstance(answer, WrongState)
            state = S.PENDING if wrong == "not held" else S.HELD
            assert (answer.state, (await found(outbox, 1)).state) == (state, state)
