"""How much a mailbox takes: its queue, its hour, and what gives room back."""

import asyncio

import pytest

from postroom.core.instant import SECOND
from postroom.core.mailbox import Limits
from postroom.ports.errors import StorageFull, StoreBroken, StoreUnavailable
from postroom.ports.submitting import RefusalCode, RefusalKind, Refused, Submitted
from support.mail import NOW
from support.submitting import Desk, post_at_once, refused, taken


async def test_a_full_queue_takes_no_more() -> None:
    desk = Desk()
    desk.set(limits=Limits(queued=10))
    desk.waiting = 9
    result = refused(await desk.post(to=["a@x.example", "b@x.example"]))
    assert (result.kind, result.code) == (RefusalKind.TOO_MUCH, RefusalCode.MAILBOX_QUEUE_FULL)
    taken(await desk.post())


async def test_many_at_once_do_not_overfill_the_queue() -> None:
    desk = Desk()
    desk.set(limits=Limits(queued=10))
    results = await post_at_once(desk, [{}] * 25)
    assert sum(isinstance(one, Submitted) for one in results) == 10


@pytest.mark.parametrize("large", [False, True], ids=["light", "looked up before"])
@pytest.mark.parametrize(
    "error",
    [StoreUnavailable, StorageFull, StoreBroken, asyncio.CancelledError],
    ids=["unavailable", "full", "broken", "cancelled"],
)
async def test_what_was_not_stored_gives_its_room_back(
    error: type[BaseException], *, large: bool
) -> None:
    desk = Desk()
    desk.set(limits=Limits(queued=1, accepted_per_hour=1))

    async def fail() -> None:
        desk.intake.before_accept = None
        raise error

    desk.intake.before_accept = fail
    job = {"text": "x\n" * 50_000} if large else {}
    with pytest.raises(error):
        await desk.post(**job)
    taken(await desk.post(**job))


async def test_an_hour_takes_so_many() -> None:
    desk = Desk()
    desk.set(limits=Limits(accepted_per_hour=3))
    desk.submitter.room.seed("support", [(NOW, 1)])
    desk.clock.move(1_800 * SECOND)
    taken(await desk.post(to=["a@x.example", "b@x.example"]))
    result = refused(await desk.post())
    assert (result.code, result.retry_after_s) == (RefusalCode.MAILBOX_HOURLY_LIMIT, 1_800)
    desk.clock.move(1_800 * SECOND)
    taken(await desk.post())
    assert isinstance(await desk.post(), Refused)


@pytest.mark.parametrize("limits", [Limits(queued=2), Limits(accepted_per_hour=2)], ids=str)
async def test_a_job_that_never_finds_room_is_wrong_and_not_early(limits: Limits) -> None:
    desk = Desk()
    desk.set(limits=limits)
    result = refused(await desk.post(to=["a@x.example", "b@x.example", "c@x.example"]))
    assert (result.kind, result.retry_after_s) == (RefusalKind.WRONG, None)
    assert [one.pointer for one in result.problems] == ["/to"]
    taken(await desk.post(to=["a@x.example", "b@x.example"]))


async def test_a_replay_counts_for_no_limit() -> None:
    desk = Desk()
    desk.set(limits=Limits(accepted_per_hour=2))
    for _ in range(5):
        assert not isinstance(await desk.post(idempotency_key="k"), Refused)
    taken(await desk.post())
