"""A merge adds each new recipient once, and asks nothing of those whom the job has already."""

from postroom.ports.submitting import Merged, RefusalCode, Repeated
from support.submitting import MERGE, Desk, post_at_once, refused, taken


async def test_merges_at_once_add_each_recipient_once() -> None:
    desk = Desk()
    first, second = await post_at_once(
        desk, [{**MERGE, "to": ["a@x.example"]}, {**MERGE, "to": ["a@x.example", "b@x.example"]}]
    )
    assert second == Repeated(
        taken(first).number, is_expired=False, duplicates_dropped=0, merged=Merged(1, 1)
    )


async def test_a_merge_adds_only_new_recipients() -> None:
    desk = Desk()
    first = taken(await desk.post(**MERGE, to=["a@x.example", "b@x.example"]))
    assert first.is_merge
    same = await desk.post(**MERGE, to=["B@x.example", "a@x.example"])
    assert same == Repeated(
        first.number, is_expired=False, duplicates_dropped=0, merged=Merged(0, 2)
    )
    more = await desk.post(**MERGE, to=["a@x.example", "b@x.example", "c@x.example"])
    assert more == Repeated(
        first.number, is_expired=False, duplicates_dropped=0, merged=Merged(1, 2)
    )
    other = refused(await desk.post(**MERGE, to=["d@x.example"], text="Other."))
    assert other.code is RefusalCode.IDEMPOTENCY_KEY_REUSE


async def test_a_merge_needs_no_file_that_it_has_already() -> None:
    desk = Desk()
    desk.spool.paths["/srv/a.csv"] = b"1"
    job = {**MERGE, "attachments": [{"path": "/srv/a.csv"}]}
    first = taken(await desk.post(**job))
    desk.spool.paths.clear()
    more = await desk.post(**job, to=["ann@one.example", "bob@one.example"])
    assert more == Repeated(
        first.number, is_expired=False, duplicates_dropped=0, merged=Merged(1, 1)
    )


async def test_a_merge_checks_only_new_recipients() -> None:
    desk = Desk()
    taken(await desk.post(**MERGE, to=["a@x.example"]))
    desk.set(recipients_deny=("x.example", "z.example"))
    assert isinstance(await desk.post(**MERGE, to=["a@x.example", "b@y.example"]), Repeated)
    result = refused(await desk.post(**MERGE, to=["a@x.example", "c@z.example"]))
    assert [one.pointer for one in result.problems] == ["/to/1"]


async def test_a_merge_into_an_expired_job_is_refused() -> None:
    desk = Desk()
    first = taken(await desk.post(**MERGE, to=["a@x.example"]))
    desk.intake.tombstones.add(first.number)
    assert isinstance(await desk.post(**MERGE, to=["a@x.example"]), Repeated)
    assert refused(await desk.post(**MERGE, to=["b@x.example"])).code is RefusalCode.JOB_EXPIRED
