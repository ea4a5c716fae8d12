"""The same job again is the same job, whatever changed since, and another one under its key is refused."""

import pytest

from postroom.core.instant import SECOND
from postroom.core.mailbox import Limits
from postroom.ports.submitting import Merged, RefusalCode, Refused, Repeated, Submitted
from support.submitting import Desk, post_at_once, refused, taken


async def test_a_minted_key_stands_for_its_job_as_any_other() -> None:
    """The caller has it from the 202, and may have got no further with it."""
    desk = Desk()
    first = taken(await desk.post())
    again = await desk.post(idempotency_key=first.idempotency_key)
    assert again == Repeated(first.number, is_expired=False, duplicates_dropped=0)
    other = refused(await desk.post(idempotency_key=first.idempotency_key, text="x"))
    assert other.code is RefusalCode.IDEMPOTENCY_KEY_REUSE


async def test_a_default_of_the_mailbox_can_be_spelled_out() -> None:
    desk = Desk()
    first = taken(await desk.post(idempotency_key="k"))
    again = await desk.post(idempotency_key="k", auto_submitted="auto-generated")
    assert isinstance(again, Repeated)
    assert again.number == first.number
    other = refused(await desk.post(idempotency_key="k", auto_submitted="no"))
    assert other.code is RefusalCode.IDEMPOTENCY_KEY_REUSE


async def test_the_same_job_again_is_a_replay() -> None:
    desk = Desk()
    first = taken(await desk.post(idempotency_key="k"))
    again = await desk.post(idempotency_key="k", priority="standard", cc=[], headers={})
    assert again == Repeated(first.number, is_expired=False, duplicates_dropped=0)


@pytest.mark.parametrize(
    "change", [{"subject": "x"}, {"to": ["b@one.example"]}, {"text": "x"}], ids=str
)
async def test_another_job_under_a_key_is_refused(change: dict[str, object]) -> None:
    desk = Desk()
    first = taken(await desk.post(idempotency_key="k"))
    result = refused(await desk.post(idempotency_key="k", **change))
    assert (result.code, result.job_number) == (RefusalCode.IDEMPOTENCY_KEY_REUSE, first.number)


async def test_a_replay_is_answered_whatever_changed_since() -> None:
    desk = Desk()
    desk.spool.paths["/srv/a.csv"] = b"1"
    job = {
        "idempotency_key": "k",
        "attachments": [{"path": "/srv/a.csv"}],
        "not_after": "2026-11-30T07:01:00Z",
    }
    first = taken(await desk.post(**job))
    desk.spool.paths.clear()
    desk.set(recipients_deny=("one.example",), limits=Limits(queued=1))
    desk.waiting = 5
    desk.clock.move(86_400 * SECOND)
    assert await desk.post(**job) == Repeated(first.number, is_expired=False, duplicates_dropped=0)
    desk.mailboxes.clear()
    assert await desk.post(**job) == Repeated(first.number, is_expired=False, duplicates_dropped=0)


async def test_a_file_with_other_content_is_another_job() -> None:
    desk = Desk()
    desk.spool.paths["/srv/a.csv"] = b"1"
    job: dict[str, object] = {"idempotency_key": "k", "attachments": [{"path": "/srv/a.csv"}]}
    taken(await desk.post(**job))
    desk.spool.paths["/srv/a.csv"] = b"2"
    assert refused(await desk.post(**job)).code is RefusalCode.IDEMPOTENCY_KEY_REUSE


async def test_a_replay_of_an_expired_job_says_so() -> None:
    desk = Desk()
    desk.spool.paths["/srv/a.csv"] = b"1"
    job: dict[str, object] = {"idempotency_key": "k", "attachments": [{"path": "/srv/a.csv"}]}
    first = taken(await desk.post(**job))
    desk.intake.tombstones.add(first.number)
    assert await desk.post(**job) == Repeated(first.number, is_expired=True, duplicates_dropped=0)


async def test_twins_make_one_job() -> None:
    desk = Desk()
    results = await post_at_once(desk, [{"idempotency_key": "k"}] * 50)
    assert sum(isinstance(one, Submitted) for one in results) == 1
    assert len({one.number for one in results if not isinstance(one, Refused)}) == 1
    assert len(desk.intake.jobs) == 1


async def test_of_two_jobs_at_once_under_one_key_one_is_refused() -> None:
    desk = Desk()
    first, second = await post_at_once(
        desk, [{"idempotency_key": "k"}, {"idempotency_key": "k", "text": "x"}]
    )
    assert refused(second).code is RefusalCode.IDEMPOTENCY_KEY_REUSE
    assert refused(second).job_number == taken(first).number


async def test_a_replay_with_slow_files_is_not_now() -> None:
    desk = Desk()
    desk.spool.paths["/srv/a"] = b"1"
    job: dict[str, object] = {"idempotency_key": "k", "attachments": [{"path": "/srv/a"}]}
    taken(await desk.post(**job))
    desk.spool.is_slow = True
    assert refused(await desk.post(**job)).code is RefusalCode.ATTACHMENT_SLOW


async def test_a_merged_key_of_an_expired_job_is_replayed() -> None:
    desk = Desk()
    job: dict[str, object] = {"idempotency_key": "k", "copies": "individual"}
    first = taken(await desk.post(**job, on_duplicate="merge"))
    desk.intake.tombstones.add(first.number)
    assert await desk.post(**job) == Repeated(first.number, is_expired=True, duplicates_dropped=0)


async def test_a_replayed_key_that_comes_back_as_merge_is_the_same_job() -> None:
    desk = Desk()
    job = {"idempotency_key": "k", "copies": "individual"}
    first = taken(await desk.post(**job))
    again = await desk.post(**job, on_duplicate="merge")
    assert again == Repeated(
        first.number, is_expired=False, duplicates_dropped=0, merged=Merged(0, 1)
    )


async def test_a_merged_key_that_comes_back_as_replay_is_the_same_job_for_the_same_recipients() -> (
    None
):
    desk = Desk()
    job = {"idempotency_key": "k", "copies": "individual"}
    first = taken(await desk.post(**job, on_duplicate="merge"))
    assert await desk.post(**job) == Repeated(first.number, is_expired=False, duplicates_dropped=0)
    assert (
        refused(await desk.post(**job, to=["z@x.example"])).code
        is RefusalCode.IDEMPOTENCY_KEY_REUSE
    )
