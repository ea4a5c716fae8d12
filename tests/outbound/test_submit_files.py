"""What a job brings along: attachments by path and by upload, large texts, and their bounds."""

import pytest

from postroom.core.body import FileSegment
from postroom.core.mailbox import Limits
from postroom.ports.accepting import StagedGone
from postroom.ports.submitting import RefusalCode, RefusalKind, Repeated
from support.mail import parsed, rendered
from support.submitting import Desk, refused, taken


async def test_files_are_read_with_the_right_of_the_caller() -> None:
    desk = Desk()
    desk.spool.paths["/srv/a.csv"] = b"1"
    taken(await desk.post(attachments=[{"path": "/srv/a.csv"}]))
    assert desk.spool.reader_uid == 1000


async def test_a_large_text_and_a_file_lie_side_by_side() -> None:
    desk = Desk()
    desk.spool.paths["/srv/a"] = b"1"
    result = taken(await desk.post(text="x\n" * 50_000, attachments=[{"path": "/srv/a"}]))
    stored = desk.intake.jobs[result.number]
    assert [type(one) for one in stored.body.segments] == [FileSegment, FileSegment, bytes]
    assert len(rendered(stored.body, desk.spool.kept)) == stored.body.size_bytes


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
