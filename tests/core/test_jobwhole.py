"""A job as a whole: what it is understood as, and that everything wrong with it is found at once."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.ids import Kind, encode_id
from postroom.core.instant import SECOND, Instant
from postroom.core.job import (
    Address,
    Attachment,
    Copies,
    Field,
    Job,
    PathAttachment,
    Recipient,
    StagedAttachment,
)
from postroom.core.jobfields import read_job
from postroom.core.mailbox import Lane
from support.mail import NOW, job, problems, spec


THREAD = encode_id(Kind.THREAD, 7)
MANY = [f"r{n}@x.example" for n in range(1_001)]


def test_a_null_is_a_field_that_was_not_given() -> None:
    given = spec(metadata={"run": "7"})
    nulls = {name: None for name in NOT_NEEDED if name not in given}
    found = read_job({**given, **nulls}, now=NOW)
    assert isinstance(found, Job)
    assert replace(found, spec=given) == read_job(given, now=NOW)


def test_everything_wrong_is_found_at_once() -> None:
    found = problems(
        to=["ann@ok.example", "not an address", "a@x.example, b@x.example"],
        cc=["a@x.example>\r\nRCPT"],
        subject=None,
        priority="urgent",
        send_at="tomorrow",
        metadata="none",
        colour="red",
    )
    assert found == {
        "/to/1",
        "/to/2",
        "/cc/0",
        "/subject",
        "/priority",
        "/send_at",
        "/metadata",
        "/colour",
    }


@pytest.mark.parametrize("value", [None, [], "x", 1, True], ids=str)
def test_a_job_is_an_object(value: object) -> None:
    (problem,) = read_job(value, now=NOW)  # type: ignore[misc]
    assert problem.pointer == ""


def test_an_answer_stays_small() -> None:
    found = read_job(spec(**{f"x{n}" + "y" * 500: 1 for n in range(5_000)}), now=NOW)
    assert isinstance(found, tuple)
    assert len(found) == 1_000
    assert max(len(one.pointer) + len(one.detail) for one in found) < 400


def test_a_whole_job_is_understood() -> None:
    found = job(
        to=[{"address": "Ann@One.example", "name": "Ann"}, "ANN@one.EXAMPLE"],
        cc=["bob@two.example", "ann@one.example"],
        attachments=[
            {"ref": "att_1", "inline": True, "content_id": "<logo>"},
            {"path": "/srv/a", "pin": True, "filename": "b"},
        ],
        headers={"X-A": "1"},
        reply_to=["r@x.example"],
        metadata={"run": "7"},
        priority="high",
        send_at="2026-11-30T09:00:00+01:00",
    )
    assert found.recipients == (
        Recipient(Address("Ann@one.example", "Ann"), Field.TO),
        Recipient(Address("bob@two.example"), Field.CC),
    )
    assert found.duplicates_dropped == 2
    assert (found.mailbox_id, found.subject) == ("support", "Your report")
    assert found.attachments == (
        Attachment(StagedAttachment("att_1"), None, None, inline=True, content_id="logo"),
        Attachment(PathAttachment("/srv/a", pin=True), "b"),
    )
    assert (found.headers, found.reply_to) == ((("X-A", "1"),), (Address("r@x.example"),))
    assert (found.metadata, found.lane) == ((("run", "7"),), Lane.HIGH)
    assert found.send_at == Instant(NOW + 3_600 * SECOND)


def test_the_names_that_a_caller_gives_are_kept() -> None:
    found = job(
        conversation_id="c", trace_id="t", idempotency_key="k", not_after="2026-12-01T00:00:00Z",
        on_duplicate="merge", auto_submitted="no",
    )  # fmt: skip
    assert (found.conversation_id, found.trace_id, found.idempotency_key) == ("c", "t", "k")
    assert (found.on_duplicate, found.auto_submitted) == ("merge", "no")
    assert found.not_after == Instant(NOW + 17 * 3_600 * SECOND)


def test_a_time_that_is_past_is_now() -> None:
    assert job(send_at="2026-11-30T07:00:00Z").send_at is None


COPIES: dict[str, tuple[dict[str, object], Copies]] = {
    "one": ({}, Copies.CONVERSATION),
    "20": ({"to": MANY[:20]}, Copies.CONVERSATION),
    "21": ({"to": MANY[:21]}, Copies.INDIVIDUAL),
    "21 of whom one is double": ({"to": [*MANY[:20], MANY[0].upper()]}, Copies.CONVERSATION),
    "bulk": ({"priority": "bulk"}, Copies.INDIVIDUAL),
    "merge": ({"on_duplicate": "merge"}, Copies.INDIVIDUAL),
    "in a thread": ({"thread_id": THREAD, "to": MANY[:21]}, Copies.CONVERSATION),
    "bulk in a thread": ({"thread_id": THREAD, "priority": "bulk"}, Copies.CONVERSATION),
    "asked for": ({"priority": "bulk", "copies": "conversation"}, Copies.CONVERSATION),
}


@pytest.mark.parametrize(("changes", "copies"), COPIES.values(), ids=COPIES)
def test_copies_have_a_default(changes: dict[str, object], copies: Copies) -> None:
    assert job(**changes).copies is copies


NOT_NEEDED = (
    "cc", "bcc", "html", "copies", "attachments", "headers", "reply_to", "priority", "send_at", "not_after",
    "conversation_id", "thread_id", "trace_id", "idempotency_key", "on_duplicate", "auto_submitted", "if",
    "in_reply_to_event", "lease", "allow_new_recipients",
)  # fmt: skip
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.just("ann@one.example"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=12)
            | st.sampled_from(["address", "name", "path", "ref", "pin", "inline"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
NAMES = st.sampled_from(
    [
        "mailbox_id",
        "to",
        "cc",
        "bcc",
        "subject",
        "text",
        "html",
        "copies",
        "attachments",
        "headers",
        "reply_to",
        "metadata",
        "priority",
        "send_at",
        "not_after",
        "conversation_id",
        "thread_id",
        "trace_id",
        "idempotency_key",
        "on_duplicate",
        "auto_submitted",
        "x",
    ]
)


@given(st.dictionaries(NAMES, JSON))
def test_any_json_is_a_job_or_has_problems(value: dict[str, object]) -> None:
    found = read_job(value, now=NOW)
    assert isinstance(found, Job) or found
