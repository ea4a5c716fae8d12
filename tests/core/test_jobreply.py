"""What a job may say about its conversation."""

import pytest

from postroom.core.job import Condition, Copies, Job, LeaseClaim
from postroom.core.jobfields import read_job
from support.mail import NOW, job, spec


EVENT, THREAD = "evt_0000000000007", "thr_0000000000003"


def test_an_answer_leaves_to_its_event_who_what_and_where() -> None:
    answer = {"mailbox_id": None, "to": None, "subject": None}
    found = job(**answer, in_reply_to_event=EVENT, lease={"id": "lse_0000000000004", "fence": 5})
    assert (found.mailbox_id, found.recipients, found.subject) == ("", (), "")
    assert (found.answers, found.lease, found.copies) == (7, LeaseClaim(4, 5), Copies.CONVERSATION)


def test_a_precondition_names_a_version_an_event_or_both() -> None:
    both = {"thread_version": 0, "no_inbound_since": EVENT}
    assert job(thread_id=THREAD, **{"if": both}).condition == Condition(0, 7)
    assert job(thread_id=THREAD, **{"if": {"thread_version": 3}}).condition == Condition(3, None)


@pytest.mark.parametrize(
    ("fields", "pointers"),
    [
        ({"in_reply_to_event": "evt_x"}, {"/in_reply_to_event"}),
        ({"in_reply_to_event": EVENT, "thread_id": THREAD}, {"/in_reply_to_event"}),
        ({"in_reply_to_event": EVENT, "conversation_id": "c"}, {"/in_reply_to_event"}),
        ({"thread_id": THREAD, "conversation_id": "c"}, {"/conversation_id"}),
        ({"if": {"thread_version": 1}}, {"/if"}),
        ({"if": {}, "thread_id": THREAD}, {"/if"}),
        ({"if": {"version": 1}, "thread_id": THREAD}, {"/if/version"}),
        ({"if": {"thread_version": -1}, "thread_id": THREAD}, {"/if/thread_version"}),
        ({"if": {"thread_version": True}, "thread_id": THREAD}, {"/if/thread_version"}),
        ({"if": {"no_inbound_since": 7}, "thread_id": THREAD}, {"/if/no_inbound_since"}),
        ({"if": 3, "thread_id": THREAD}, {"/if"}),
        ({"lease": {"id": "lse_0000000000004", "fence": 1}}, {"/lease"}),
        ({"lease": {"id": "lse_0000000000004"}, "thread_id": THREAD}, {"/lease/fence"}),
        ({"lease": {"fence": 1}, "thread_id": THREAD}, {"/lease/id"}),
        ({"lease": {"id": "lse_0000000000004", "fence": 1 << 63}, "thread_id": THREAD}, {"/lease/fence"}),
        ({"lease": [], "thread_id": THREAD}, {"/lease"}),
        ({"allow_new_recipients": True}, {"/allow_new_recipients"}),
        ({"allow_new_recipients": 1, "in_reply_to_event": EVENT}, {"/allow_new_recipients"}),
        ({"in_reply_to_event": EVENT, "on_duplicate": "merge", "copies": "individual"}, {"/on_duplicate"}),
        ({"if": {"thread_version": 1}, "conversation_id": "c", "copies": "individual",
          "to": ["a@one.example", "b@one.example"]}, {"/copies"}),
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_fit_a_conversation_is_named(
    fields: dict[str, object], pointers: set[str]
) -> None:
    found = read_job(spec(**fields), now=NOW)
    assert not isinstance(found, Job)
    assert {one.pointer for one in found} == pointers


@pytest.mark.parametrize("fence", [0, 1, (1 << 63) - 1])
def test_a_lease_is_its_number_and_its_fence(fence: int) -> None:
    found = job(thread_id=THREAD, lease={"id": "lse_0000000000004", "fence": fence})
    assert found.lease == LeaseClaim(4, fence)
