"""A job that leaves nothing behind is stored before its key is looked up; what is known is answered first all the same."""

import pytest

from postroom.core.mailbox import Limits
from postroom.ports.errors import StorageFull, StoreError, StoreUnavailable
from postroom.ports.submitting import Merged, RefusalCode, Repeated
from support.submitting import Desk, post_at_once, refused, taken


JOB: dict[str, object] = {"idempotency_key": "k", "text": "Here it is.\n"}


async def test_a_new_job_asks_the_store_nothing_before_it_is_stored() -> None:
    desk = Desk()
    taken(await desk.post(**JOB))
    assert desk.intake.lookups == 0


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"limits": Limits(queued=1)}, id="the queue is full"),
        pytest.param({"limits": Limits(accepted_per_hour=1)}, id="the hour is full"),
        pytest.param({"recipients_deny": ("one.example",)}, id="the recipient is denied"),
    ],
)
async def test_a_replay_is_answered_where_a_new_job_would_be_refused(
    settings: dict[str, object],
) -> None:
    desk = Desk()
    first = taken(await desk.post(**JOB))
    desk.waiting = 1
    desk.set(**settings)
    assert await desk.post(**JOB) == Repeated(first.number, is_expired=False, duplicates_dropped=0)
    assert refused(await desk.post(**JOB, subject="x")).job_number == first.number
    assert refused(await desk.post(idempotency_key="new")).job_number is None


async def test_a_replay_is_answered_where_its_mailbox_is_gone() -> None:
    desk = Desk()
    first = taken(await desk.post(**JOB))
    desk.mailboxes.clear()
    assert await desk.post(**JOB) == Repeated(first.number, is_expired=False, duplicates_dropped=0)
    result = refused(await desk.post(idempotency_key="new"))
    assert result.code is RefusalCode.UNKNOWN_MAILBOX


async def test_a_replay_is_answered_where_its_thread_is_gone() -> None:
    desk = Desk()
    desk.intake.threads.add(1)
    in_thread = JOB | {"thread_id": "thr_0000000000001"}
    first = taken(await desk.post(**in_thread))
    desk.intake.threads.clear()
    again = Repeated(first.number, is_expired=False, duplicates_dropped=0)
    assert await desk.post(**in_thread) == again


@pytest.mark.parametrize("error", [StorageFull, StoreUnavailable], ids=["full", "unavailable"])
async def test_a_replay_is_answered_where_nothing_can_be_stored(error: type[StoreError]) -> None:
    desk = Desk()
    first = taken(await desk.post(**JOB))

    async def fail() -> None:
        raise error

    desk.intake.before_accept = fail
    assert await desk.post(**JOB) == Repeated(first.number, is_expired=False, duplicates_dropped=0)
    with pytest.raises(error):
        await desk.post(idempotency_key="new")


async def test_a_replay_takes_no_room() -> None:
    desk = Desk()
    desk.set(limits=Limits(queued=3, accepted_per_hour=3))
    first = taken(await desk.post(**JOB))
    results = await post_at_once(desk, [JOB] * 5)
    again = Repeated(first.number, is_expired=False, duplicates_dropped=0)
    assert results == [again] * 5
    taken(await desk.post(to=["a@x.example", "b@x.example"]))


async def test_a_replay_of_a_tombstone_says_that_it_expired() -> None:
    desk = Desk()
    first = taken(await desk.post(**JOB))
    desk.intake.tombstones.add(first.number)
    assert await desk.post(**JOB) == Repeated(first.number, is_expired=True, duplicates_dropped=0)


async def test_a_default_spelled_out_is_the_same_job_also_where_the_store_sees_another() -> None:
    desk = Desk()
    first = taken(await desk.post(**JOB))
    again = await desk.post(**JOB, auto_submitted="auto-generated")
    assert again == Repeated(first.number, is_expired=False, duplicates_dropped=0)


@pytest.mark.parametrize(
    ("more", "merged"),
    [
        pytest.param({"text": "x\n" * 50_000}, None, id="a large text"),
        pytest.param({"attachments": [{"path": "/srv/a"}]}, None, id="a file"),
        pytest.param({"on_duplicate": "merge"}, Merged(0, 1), id="a merge"),
    ],
)
async def test_what_would_leave_something_behind_is_looked_up_first(
    more: dict[str, object], merged: Merged | None
) -> None:
    desk = Desk()
    desk.spool.paths["/srv/a"] = b"1"
    first = taken(await desk.post(**JOB | more))
    numbers = desk.intake.numbers
    again = await desk.post(**JOB | more)
    assert again == Repeated(first.number, is_expired=False, duplicates_dropped=0, merged=merged)
    assert (desk.intake.lookups, desk.intake.numbers) == (2, numbers)


async def test_no_text_that_is_stored_at_once_goes_to_the_spool() -> None:
    """The longest that may: every character takes as many octets as one can."""
    desk = Desk()
    for text in ("\U0001f4ee" * 8_192, "\n" * 8_192, "=\t" * 4_096):
        taken(await desk.post(text=text))
    assert desk.spool.kept == {}
