"""Everything that is wrong with a job is said at once, in which order ever it is judged."""

import pytest

from postroom.ports.accepting import JobExpired, Replayed, UnknownThread
from postroom.ports.submitting import Merged, RefusalCode, RefusalKind, Repeated
from support.submitting import MERGE, Desk, refused


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
