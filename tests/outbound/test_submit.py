"""A job is handed in: what is stored, what is answered, and in which order things are judged."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from postroom.core.body import FileSegment
from postroom.core.instant import SECOND
from postroom.core.mailbox import Limits, Mailbox
from postroom.outbound.submit import JobSubmitter, SubmitParts
from postroom.ports.accepting import JobExpired, Replayed, StagedGone, UnknownThread
from postroom.ports.errors import StoreUnavailable
from postroom.ports.submitting import (
    Merged,
    RefusalCode,
    RefusalKind,
    Refused,
    Repeated,
    SubmitResult,
    Submitted,
)
from support.clock import CountedEntropy, HandClock
from support.mail import NOW, SUPPORT, parsed, rendered, spec
from support.submit_host import MemoryIntake, MemorySpool


ROOTED = replace(SUPPORT, attachment_roots=("/srv",))


@dataclass
class Desk:
    """A submitter with its surroundings."""

    mailbox: Mailbox = ROOTED
    intake: MemoryIntake = field(default_factory=MemoryIntake)
    spool: MemorySpool = field(default_factory=MemorySpool)
    clock: HandClock = field(default_factory=lambda: HandClock(NOW))
    waiting: int = 0

    def __post_init__(self) -> None:
        self.mailboxes = {"support": self.mailbox}
        parts = SubmitParts(
            self.intake,
            self.spool,
            self.mailboxes,
            self.clock,
            CountedEntropy(),
            lambda _: self.waiting,
            self.intake.find_job,
        )
        self.submitter = JobSubmitter(parts)

    async def post(self, **changes: object) -> SubmitResult:
        return await self.submitter.submit(spec(**changes), 1000)

    def set(self, **settings: object) -> None:
        self.mailboxes["support"] = replace(self.mailboxes["support"], **settings)  # type: ignore[arg-type]


def taken(result: SubmitResult) -> Submitted:
    assert isinstance(result, Submitted), result
    return result


def refused(result: SubmitResult) -> Refused:
    assert isinstance(result, Refused), result
    return result


async def test_a_job_is_stored_whole_and_named() -> None:
    desk = Desk()
    result = taken(await desk.submitter.submit(spec(idempotency_key="k"), 1000, None, None))
    stored = desk.intake.jobs[result.number]
    assert (result.idempotency_key, result.is_merge, result.created_at) == ("k", False, NOW)
    assert stored.principal_uid == 1000
    (delivery,) = stored.deliveries
    assert (delivery.recipient, delivery.domain, delivery.thread_key) == (
        "ann@one.example",
        "one.example",
        "",
    )
    assert result.message_id == delivery.message_id
    assert result.thread_number == delivery.thread_number
    found = parsed(delivery.head + rendered(stored.body, {}))
    assert (found["Message-ID"], found["To"]) == (delivery.message_id, "ann@one.example")


async def test_names_are_minted_for_a_job_that_brings_none() -> None:
    desk = Desk()
    first, second = taken(await desk.post()), taken(await desk.post())
    assert first.idempotency_key != second.idempotency_key
    assert len(first.trace_id) == 32


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


async def test_headers_name_the_key_and_the_trace() -> None:
    desk = Desk()
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    result = taken(
        await desk.submitter.submit(spec(), 0, "from header", f"00-{trace}-00f067aa0ba902b7-01")
    )
    assert (result.idempotency_key, result.trace_id) == ("from header", trace)


async def test_two_different_keys_are_a_problem() -> None:
    result = refused(await Desk().submitter.submit(spec(idempotency_key="a"), 0, "b"))
    assert [one.pointer for one in result.problems] == ["/idempotency_key"]


async def test_a_conversation_shares_message_id_and_thread() -> None:
    result = taken(await Desk().post(to=["ann@one.example", "bob@two.example"]))
    assert len(result.deliveries) == 2
    assert result.message_id is not None
    assert result.thread_number is not None


async def test_individual_copies_have_their_own() -> None:
    desk = Desk()
    result = taken(await desk.post(to=["Ann@one.example", "bob@two.example"], copies="individual"))
    assert (result.message_id, result.thread_number) == (None, None)
    deliveries = desk.intake.jobs[result.number].deliveries
    assert [one.thread_key for one in deliveries] == ["ann@one.example", "bob@two.example"]
    assert b"bob@" not in deliveries[0].head


async def test_a_job_for_later_is_due_later() -> None:
    desk = Desk()
    result = taken(await desk.post(send_at="2026-11-30T08:00:00Z"))
    assert desk.intake.jobs[result.number].due_at == NOW + 3600 * SECOND


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


async def test_files_are_read_with_the_right_of_the_caller() -> None:
    desk = Desk()
    desk.spool.paths["/srv/a.csv"] = b"1"
    taken(await desk.post(attachments=[{"path": "/srv/a.csv"}]))
    assert desk.spool.reader_uid == 1000


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


def hold(desk: Desk) -> asyncio.Event:
    """Nothing is stored until this is set."""
    gate = asyncio.Event()

    async def wait() -> None:
        await gate.wait()

    desk.intake.before_accept = wait
    return gate


async def post_at_once(desk: Desk, jobs: list[dict[str, object]]) -> list[SubmitResult]:
    """All are on their way before the first is stored."""
    gate = hold(desk)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(desk.post(**one)) for one in jobs]
        group.create_task(asyncio.to_thread(bool)).add_done_callback(lambda _: gate.set())
    return [task.result() for task in tasks]


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


async def test_merges_at_once_add_each_recipient_once() -> None:
    desk = Desk()
    first, second = await post_at_once(
        desk, [{**MERGE, "to": ["a@x.example"]}, {**MERGE, "to": ["a@x.example", "b@x.example"]}]
    )
    assert second == Repeated(
        taken(first).number, is_expired=False, duplicates_dropped=0, merged=Merged(1, 1)
    )


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


async def test_a_large_text_and_a_file_lie_side_by_side() -> None:
    desk = Desk()
    desk.spool.paths["/srv/a"] = b"1"
    result = taken(await desk.post(text="x\n" * 50_000, attachments=[{"path": "/srv/a"}]))
    stored = desk.intake.jobs[result.number]
    assert [type(one) for one in stored.body.segments] == [FileSegment, FileSegment, bytes]
    assert len(rendered(stored.body, desk.spool.kept)) == stored.body.size_bytes


MERGE: dict[str, object] = {"idempotency_key": "k", "on_duplicate": "merge"}


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


async def test_everything_wrong_is_said_at_once() -> None:
    desk = Desk()
    desk.set(recipients_allow=("@one.example",))
    result = refused(
        await desk.post(
            to=["ann@one.example", "bob@two.example", "nobody"], colour="red", text=None
        )
    )
    assert {one.pointer for one in result.problems} == {"/to/1", "/to/2", "/colour", "/text"}
    assert (result.kind, result.code) == (RefusalKind.WRONG, RefusalCode.UNKNOWN_FIELD)


async def test_an_unknown_mailbox_is_said_with_the_rest() -> None:
    result = refused(await Desk().post(mailbox_id="nobody", subject=None))
    assert {one.pointer for one in result.problems} == {"/mailbox_id", "/subject"}
    alone = refused(await Desk().post(mailbox_id="nobody"))
    assert (alone.code, alone.problems[0].pointer) == (RefusalCode.UNKNOWN_MAILBOX, "/mailbox_id")


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"template": "x"}, id="alone"),
        pytest.param({"template": "x", "subject": 5}, id="beside another fault"),
        pytest.param({"template": "x", "mailbox_id": "nobody"}, id="beside an unknown mailbox"),
        pytest.param({"attachments": [{"url": "https://one.example/"}]}, id="in an attachment"),
    ],
)
async def test_an_unknown_field_has_its_own_code(more: dict[str, object]) -> None:
    assert refused(await Desk().post(**more)).code is RefusalCode.UNKNOWN_FIELD


async def test_files_and_recipients_are_refused_together() -> None:
    desk = Desk()
    desk.set(recipients_deny=("one.example",))
    attachments = [{"path": "/srv/none"}, {"ref": "att_none"}, {"path": "/etc/passwd"}]
    result = refused(await desk.post(attachments=attachments))
    assert [one.pointer for one in result.problems] == [
        "/to/0",
        "/attachments/0/path",
        "/attachments/1/ref",
        "/attachments/2/path",
    ]


async def test_attachments_are_attached() -> None:
    desk = Desk()
    desk.spool.paths["/srv/q3.xlsx"] = b"book"
    desk.spool.stage("att_1", b"staged", "a.bin", "message/rfc822")
    attachments = [
        {"ref": "att_1"},
        {"path": "/srv/q3.xlsx", "pin": True, "filename": "Umsätze.xlsx"},
    ]
    result = taken(await desk.post(attachments=attachments))
    stored = desk.intake.jobs[result.number]
    assert stored.staged_refs == ("att_1",)
    assert [one.path for one in stored.body.segments if isinstance(one, FileSegment)] == [
        None,
        "/srv/q3.xlsx",
    ]
    found = parsed(stored.deliveries[0].head + rendered(stored.body, desk.spool.kept))
    assert {
        one.get_filename(): (one.get_content_type(), one.get_payload(decode=True))
        for one in found.iter_attachments()
    } == {
        "a.bin": ("application/octet-stream", b"staged"),
        "Umsätze.xlsx": (
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            b"book",
        ),
    }


@pytest.mark.parametrize("on_duplicate", ["replay", "merge"])
async def test_a_file_that_is_uploaded_again_is_the_same_attachment(on_duplicate: str) -> None:
    """Who got no answer uploads and posts again from the start."""
    desk = Desk()
    for ref, content in (("att_1", b"report"), ("att_2", b"report"), ("att_3", b"another")):
        desk.spool.stage(ref, content, "report.pdf", "application/pdf")
    job: dict[str, object] = {
        "idempotency_key": "k",
        "copies": "individual",
        "on_duplicate": on_duplicate,
    }
    first = taken(await desk.post(**job, attachments=[{"ref": "att_1"}]))
    again = await desk.post(**job, attachments=[{"ref": "att_2"}])
    assert isinstance(again, Repeated)
    assert again.number == first.number
    del desk.spool.staged["att_1"]
    assert isinstance(await desk.post(**job, attachments=[{"ref": "att_1"}]), Repeated)
    if on_duplicate == "replay":
        other = refused(await desk.post(**job, attachments=[{"ref": "att_3"}]))
        assert other.code is RefusalCode.IDEMPOTENCY_KEY_REUSE


async def test_attachments_over_the_mailboxes_limit_are_refused() -> None:
    desk = Desk()
    desk.set(limits=Limits(attachment_bytes=5))
    desk.spool.paths |= {"/srv/a": b"123", "/srv/b": b"456"}
    result = refused(await desk.post(attachments=[{"path": "/srv/a"}, {"path": "/srv/b"}]))
    assert [one.pointer for one in result.problems] == ["/attachments"]


async def test_slow_attachments_are_not_now() -> None:
    desk = Desk()
    desk.spool.is_slow = True
    result = refused(await desk.post(attachments=[{"path": "/srv/a"}]))
    assert (result.kind, result.code) == (RefusalKind.NOT_NOW, RefusalCode.ATTACHMENT_SLOW)


async def test_a_large_text_goes_to_the_spool() -> None:
    desk = Desk()
    text = "A line of a long report.\n" * 4_000
    stored = desk.intake.jobs[taken(await desk.post(text=text)).number]
    (segment,) = stored.body.segments
    assert isinstance(segment, FileSegment)
    found = parsed(stored.deliveries[0].head + rendered(stored.body, desk.spool.kept))
    assert found.get_content().replace("\r\n", "\n") == text


async def test_a_file_that_is_removed_meanwhile_is_staged_again() -> None:
    desk = Desk()
    desk.spool.paths["/srv/a"] = b"1"
    desk.intake.refuses = [StagedGone("00")]
    taken(await desk.post(attachments=[{"path": "/srv/a"}]))
    assert desk.spool.keeps == 2
    desk.intake.refuses = [StagedGone("00"), StagedGone("00")]
    result = refused(await desk.post(attachments=[{"path": "/srv/a"}]))
    assert (result.kind, result.code) == (RefusalKind.NOT_NOW, RefusalCode.STORE_UNAVAILABLE)


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


async def test_what_was_not_stored_gives_its_room_back() -> None:
    desk = Desk()
    desk.set(limits=Limits(queued=1, accepted_per_hour=1))

    async def fail() -> None:
        raise StoreUnavailable

    desk.intake.before_accept = fail
    with pytest.raises(StoreUnavailable):
        await desk.post()
    desk.intake.before_accept = None
    taken(await desk.post())


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


async def test_a_mailbox_that_diverts_sends_elsewhere_and_says_from_whom() -> None:
    desk = Desk()
    desk.set(divert_to="staging@dev.example")
    result = taken(await desk.post(to=["ann@one.example"], bcc=["bob@two.example"]))
    deliveries = desk.intake.jobs[result.number].deliveries
    assert [(one.recipient, one.recipient_key, one.domain) for one in deliveries] == [
        ("staging@dev.example", "ann@one.example", "dev.example"),
        ("staging@dev.example", "bob@two.example", "dev.example"),
    ]
    assert b"\r\nTo: staging@dev.example\r\n" in deliveries[0].head
    assert b"\r\nX-Postroom-Diverted-From: ann@one.example\r\n" in deliveries[0].head
    assert b"bob@" not in deliveries[0].head


async def test_whatever_is_wrong_in_store_and_files_is_said_with_the_rest() -> None:
    desk = Desk()
    fields: dict[str, object] = {
        "thread_id": "thr_0000000000001",
        "attachments": [{"ref": "att_1"}, {"path": "/srv/nothing"}],
    }
    outside = {"/thread_id", "/attachments/0/ref", "/attachments/1/path"}
    found = refused(await desk.post(**fields))
    assert {one.pointer for one in found.problems} == outside
    found = refused(await desk.post(**fields, priority="urgent"))
    assert {one.pointer for one in found.problems} == {"/priority", *outside}


async def test_files_are_not_looked_for_where_they_are_not_well_named() -> None:
    found = refused(await Desk().post(attachments=[{"ref": "att_1"}, {"path": 4}]))
    assert {one.pointer for one in found.problems} == {"/attachments/1/path"}


async def test_a_thread_that_is_there_is_no_problem() -> None:
    desk = Desk()
    desk.intake.threads.add(1)
    assert taken(await desk.post(thread_id="thr_0000000000001")).thread_number == 1


async def test_an_unknown_thread_is_a_problem() -> None:
    desk = Desk()
    desk.intake.threads.add(1)
    desk.intake.refuses = [UnknownThread()]
    result = refused(await desk.post(thread_id="thr_0000000000001"))
    assert (result.code, result.problems[0].pointer) == (RefusalCode.UNKNOWN_THREAD, "/thread_id")


async def test_a_condition_on_an_event_that_is_not_there_is_a_problem() -> None:
    desk = Desk()
    desk.intake.threads.add(1)
    since = {"no_inbound_since": "evt_0000000000fff"}
    result = refused(await desk.post(thread_id="thr_0000000000001", **{"if": since}))
    assert [one.pointer for one in result.problems] == ["/if/no_inbound_since"]


async def test_what_the_store_says_last_counts() -> None:
    desk = Desk()
    desk.intake.refuses = [JobExpired(7)]
    assert refused(await desk.post(**MERGE)).code is RefusalCode.JOB_EXPIRED
    desk.intake.refuses = [Replayed(7, is_expired=True)]
    again = Repeated(7, is_expired=True, duplicates_dropped=0, merged=Merged(0, 1))
    assert await desk.post(**MERGE) == again


async def test_what_is_not_an_object_is_a_problem() -> None:
    result = refused(await Desk().submitter.submit([], 0, "k", "junk"))
    assert [one.pointer for one in result.problems] == [""]
