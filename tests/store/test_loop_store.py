"""Starts, marks and outcomes: what each leaves, and what each refuses."""

from pathlib import Path

from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.reply import SmtpReply, Stage
from postroom.ports.changes import EventPublished, JobChanged, RowsWaiting, StateMoved
from postroom.ports.looping import MarkStopped
from support.store_host import NOON, outbox_in, rows_in
from support.store_jobs import Listener, new_job, outcome_of, seen, start_of, under_way


S = DeliveryState
OK = SmtpReply(250, "2.0.0", "queued as 4711", b"250 2.0.0 queued as 4711\r\n")


async def test_a_start_takes_a_waiting_row_once(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        assert (one.claim, one.date_at, one.series_started_at) == (1, NOON, NOON)
        assert one.body.segments == (b"Content-Type: text/plain\r\n\r\nHello\r\n",)
        assert await outbox.loop.start(start_of(one.number)) is None
        assert await outbox.loop.start(start_of(4711)) is None
        assert (await seen(outbox, one.number)).state is S.SENDING


async def test_date_and_series_stay_those_of_the_first_start_and_the_claim_rises(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        again = outcome_of(one.number, 1, S.RETRY_SCHEDULED, due_at=Instant(NOON + SECOND))
        await outbox.loop.finish(again)
        two = await outbox.loop.start(start_of(one.number, Instant(NOON + SECOND)))
        assert two is not None
        assert (two.claim, two.date_at, two.series_started_at) == (2, NOON, NOON)
        assert (two.attempts, two.series_attempts) == (1, 1)


async def test_the_mark_is_made_once_and_a_sent_copy_closes_it(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        assert await outbox.loop.mark(one.number, one.claim, NOON) == NOON
        assert (await seen(outbox, one.number)).marked_at == NOON
        assert isinstance(await outbox.loop.mark(one.number, one.claim, NOON), MarkStopped)
        sent = outcome_of(
            one.number, one.claim, S.SENT, stage=Stage.DOT, reply=OK, relay_message_id="4711"
        )
        assert await outbox.loop.finish(sent) is S.SENT
        now = await seen(outbox, one.number)
        assert (now.state, now.attempts, now.marked_at) == (S.SENT, 1, None)
        assert (now.reply_code, now.relay_message_id, now.settled_by) == (250, "4711", "loop")
        assert now.history[-1].attempt == 1
        assert rows_in(tmp_path, "SELECT settled_status FROM job") == [("completed",)]
        (event,) = await outbox.reader.find_events(0, 10)
        assert event.type == "delivery.sent"
        assert event.data["delivery"]["reply"] == {  # type: ignore[index]
            "code": 250,
            "enhanced_status": "2.0.0",
            "text": "queued as 4711",
        }


async def test_memory_hears_of_every_step(tmp_path: Path) -> None:
    listener = Listener()
    async with outbox_in(tmp_path) as outbox:
        done = await outbox.intake.accept(new_job(outbox.intake))
        number = done.deliveries[0].number  # type: ignore[union-attr]
        outbox.database.watch(listener)
        await outbox.loop.start(start_of(number))
        await outbox.loop.mark(number, 1, NOON)
        later = Instant(NOON + SECOND)
        await outbox.loop.finish(outcome_of(number, 1, S.RETRY_SCHEDULED, due_at=later))
        await outbox.loop.start(start_of(number, later))
        await outbox.loop.finish(outcome_of(number, 2, S.FAILED, reason_code=ReasonCode.EXPIRED))
    lane = Lane.STANDARD
    assert listener.heard == [
        StateMoved("support", lane, S.PENDING, S.SENDING, None, 1),
        StateMoved("support", lane, S.SENDING, S.RETRY_SCHEDULED, None, 1),
        RowsWaiting("support", lane, later, "example.com"),
        StateMoved("support", lane, S.RETRY_SCHEDULED, S.SENDING, None, 1),
        StateMoved("support", lane, S.SENDING, S.FAILED, ReasonCode.EXPIRED, 1),
        JobChanged(1),
        EventPublished(1, "support", 1, "delivery.failed", ()),
    ]


async def test_an_outcome_of_an_older_claim_changes_nothing(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        await outbox.loop.finish(outcome_of(one.number, 1, S.RETRY_SCHEDULED, due_at=NOON))
        await outbox.loop.start(start_of(one.number))
        assert await outbox.loop.finish(outcome_of(one.number, 1, S.SENT)) is S.SENDING
        assert isinstance(await outbox.loop.mark(one.number, 1, NOON), MarkStopped)
        assert await outbox.loop.mark(one.number, 2, NOON) == NOON


async def test_a_postponement_by_us_is_no_attempt_and_a_withdrawn_mark_leaves_no_doubt(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        await outbox.loop.mark(one.number, one.claim, NOON)
        back = outcome_of(
            one.number,
            one.claim,
            S.RETRY_SCHEDULED,
            reason_code=ReasonCode.RELAY_UNREACHABLE,
            counts_attempt=False,
            is_deferral=True,
            withdraws_mark=True,
            counts_series=False,
        )
        await outbox.loop.finish(back)
        now = await seen(outbox, one.number)
        assert (now.attempts, now.deferrals, now.marked_at, now.doubts) == (0, 1, None, 0)
        assert now.due_at == NOON
        assert now.history[-1].attempt is None


async def test_what_the_server_said_can_not_keep_sent_from_being_stored(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        evil = SmtpReply(250, "2.0.0\udcff", "ok \udce4\x00", b"250 ok \xe4\r\n")
        sent = outcome_of(
            one.number, one.claim, S.SENT, reply=evil, relay_message_id="\udc80", stage=Stage.DOT
        )
        assert await outbox.loop.finish(sent) is S.SENT
        assert rows_in(tmp_path, "SELECT state, reply_raw FROM delivery") == [
            ("sent", b"250 ok \xe4\r\n")
        ]
