"""What stops a delivery before its start or its mark, and is too late after it."""

from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant
from postroom.core.reason import ReasonCode
from postroom.ports.desk import Actor, CancelAnswer, Verdict
from postroom.ports.looping import MarkStopped
from postroom.store.sqlite.outbox import Outbox
from support.store_host import NOON, outbox_in
from support.store_jobs import BUSY, new_job, outcome_of, seen, start_of, under_way


S = DeliveryState
ACTOR = Actor(1000)


async def suppress(outbox: Outbox) -> None:
    await outbox.admin.suppress("support", "ALICE@example.com", "asked", ACTOR, NOON)


async def pause(outbox: Outbox) -> None:
    await outbox.admin.pause("support", "maintenance", ACTOR, NOON)


async def cancel(outbox: Outbox) -> None:
    await outbox.admin.cancel_job(1, ACTOR, NOON)


async def nothing(outbox: Outbox) -> None:
    pass


STOPS = [
    (suppress, None, MarkStopped(S.FAILED, ReasonCode.RECIPIENT_SUPPRESSED)),
    (pause, None, MarkStopped(S.PENDING, ReasonCode.MAILBOX_PAUSED)),
    (cancel, None, MarkStopped(S.CANCELLED, ReasonCode.CANCELLED)),
    (nothing, Instant(NOON + 1), MarkStopped(S.FAILED, ReasonCode.EXPIRED)),
]


@pytest.mark.parametrize(
    ("act", "not_after", "expected"),
    STOPS,
    ids=["suppressed", "paused", "cancelled", "too late"],
)
async def test_what_is_committed_before_the_mark_stops_it(
    tmp_path: Path, act, not_after: Instant | None, expected: MarkStopped
) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox, not_after=not_after)
        await act(outbox)
        assert await outbox.loop.mark(one.number, one.claim, Instant(NOON + 2)) == expected
        now = await seen(outbox, one.number)
        assert (now.state, now.attempts, now.marked_at) == (expected.state, 0, None)
        late = outcome_of(one.number, one.claim, S.SENT)
        assert await outbox.loop.finish(late) is expected.state
        assert (await seen(outbox, one.number)).attempts == 0


@pytest.mark.parametrize(("act", "not_after", "expected"), STOPS[:1], ids=["suppressed"])
async def test_a_resent_copy_that_is_stopped_is_in_doubt_again(
    tmp_path: Path, act, not_after: Instant | None, expected: MarkStopped
) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox, not_after=not_after)
        await outbox.loop.mark(one.number, one.claim, NOON)
        await outbox.loop.finish(outcome_of(one.number, one.claim, S.UNCERTAIN))
        kept = await seen(outbox, one.number)
        assert (kept.state, kept.marked_at) == (S.UNCERTAIN, NOON)
        await outbox.admin.resolve(one.number, Verdict.RESEND, ACTOR, NOON)
        two = await outbox.loop.start(start_of(one.number))
        assert two is not None
        assert two.doubts == 1
        await act(outbox)
        stopped = await outbox.loop.mark(two.number, two.claim, NOON)
        assert stopped == MarkStopped(S.UNCERTAIN, expected.reason_code)


@pytest.mark.parametrize(
    ("act", "not_after", "expected"), [STOPS[0], STOPS[3]], ids=["suppressed", "too late"]
)
async def test_what_may_not_be_sent_any_more_is_not_even_started(
    tmp_path: Path, act, not_after: Instant | None, expected: MarkStopped
) -> None:
    async with outbox_in(tmp_path) as outbox:
        done = await outbox.intake.accept(new_job(outbox.intake, not_after=not_after))
        number = done.deliveries[0].number  # type: ignore[union-attr]
        await act(outbox)
        assert await outbox.loop.start(start_of(number, Instant(NOON + 2))) is None
        now = await seen(outbox, number)
        assert (now.state, now.reason_code) == (expected.state, expected.reason_code)
        assert now.history[-1].before is S.PENDING


async def test_after_the_mark_a_cancel_is_too_late_but_remembered(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        await outbox.loop.mark(one.number, one.claim, NOON)
        answers = await outbox.admin.cancel_job(1, ACTOR, NOON)
        assert answers is not None
        assert [one.answer for one in answers] == [CancelAnswer.TOO_LATE]
        later = outcome_of(
            one.number, one.claim, S.RETRY_SCHEDULED, reply=BUSY, due_at=Instant(NOON + SECOND)
        )
        assert await outbox.loop.finish(later) is S.CANCELLED
        now = await seen(outbox, one.number)
        assert (now.reason_code, now.due_at, now.reply_code) == (ReasonCode.CANCELLED, None, 450)
