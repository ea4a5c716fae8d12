"""When a second job under a key is the same job."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.fingerprint import (
    attachment_specs,
    key_hash,
    other_spelling,
    request_hash,
    same_attachments,
)
from postroom.core.job import OnDuplicate
from postroom.core.mailbox import AutoSubmitted
from support.mail import job


REPLAY, MERGE = OnDuplicate.REPLAY, OnDuplicate.MERGE

BASE: dict[str, object] = {
    "headers": {"X-A": "1", "X-B": "2"},
    "metadata": {"a": "1", "b": "2"},
    "attachments": [{"path": "/srv/a"}, {"ref": "att_1"}],
}

SAME: dict[str, dict[str, object]] = {
    "defaults spelled out": {
        "priority": "standard",
        "copies": "conversation",
        "on_duplicate": "replay",
        "cc": [],
        "bcc": [],
        "reply_to": [],
    },
    "nulls": {"html": None, "send_at": None, "trace_id": None},
    "objects in another order": {
        "headers": {"X-B": "2", "X-A": "1"},
        "metadata": {"b": "2", "a": "1"},
    },
    "header names in another case": {"headers": {"x-a": "1", "x-b": "2"}},
    "an address as an object": {"to": [{"address": "ann@one.example", "name": ""}]},
    "attachments with defaults": {
        "attachments": [
            {"path": "/srv/a", "pin": False, "inline": False, "filename": None},
            {"ref": "att_1"},
        ]
    },
    "an attachment's name and type spelled out": {
        "attachments": [
            {"path": "/srv/a", "filename": "a", "content_type": "application/octet-stream"},
            {"ref": "att_1"},
        ]
    },
    "a file elsewhere and uploaded again": {
        "attachments": [{"path": "/elsewhere/a"}, {"ref": "att_2"}],
    },
    "another key": {"idempotency_key": "other"},
    "another trace": {"trace_id": "other"},
}

OTHER: dict[str, dict[str, object]] = {
    "subject": {"subject": "x"},
    "text": {"text": "x"},
    "html": {"html": ""},
    "a display name": {"to": [{"address": "ann@one.example", "name": "Ann"}]},
    "one more recipient": {"to": ["ann@one.example", "bob@one.example"]},
    "recipients in another order": {"to": ["bob@one.example", "ann@one.example"]},
    "blind instead": {"to": None, "bcc": ["ann@one.example"]},
    "priority": {"priority": "high"},
    "copies": {"copies": "individual"},
    "a header's value": {"headers": {"X-A": "1", "X-B": "3"}},
    "metadata": {"metadata": {"a": "1"}},
    "attachments in another order": {"attachments": [{"ref": "att_1"}, {"path": "/srv/a"}]},
    "an attachment's name": {
        "attachments": [{"path": "/srv/a"}, {"ref": "att_1", "filename": "b"}]
    },
    "a file of another name": {"attachments": [{"path": "/srv/b"}, {"ref": "att_1"}]},
    "an attachment's type": {
        "attachments": [{"path": "/srv/a", "content_type": "text/csv"}, {"ref": "att_1"}]
    },
    "a pin": {"attachments": [{"path": "/srv/a", "pin": True}, {"ref": "att_1"}]},
    "send_at": {"send_at": "2027-01-01T00:00:00Z"},
    "not_after": {"not_after": "2027-01-01T00:00:00Z"},
    "conversation": {"conversation_id": "c"},
    "reply_to": {"reply_to": ["r@one.example"]},
    "auto_submitted": {"auto_submitted": "no"},
}


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_the_same_job_said_otherwise_is_the_same(changes: dict[str, object]) -> None:
    assert request_hash(job(**BASE), REPLAY) == request_hash(job(**{**BASE, **changes}), REPLAY)


@pytest.mark.parametrize("changes", OTHER.values(), ids=OTHER)
def test_another_job_is_another(changes: dict[str, object]) -> None:
    assert request_hash(job(**BASE), REPLAY) != request_hash(job(**{**BASE, **changes}), REPLAY)


def test_a_merge_leaves_out_recipients_only() -> None:
    few = job(on_duplicate="merge", to=["a@x.example"])
    many = job(
        on_duplicate="merge",
        to=[f"r{n}@x.example" for n in range(50)],
        bcc=["b@x.example"],
        cc=["c@x.example"],
    )
    assert request_hash(few, MERGE) == request_hash(many, MERGE)
    assert request_hash(few, MERGE) != request_hash(job(on_duplicate="merge", text="x"), MERGE)
    assert request_hash(few, MERGE) != request_hash(few, REPLAY)


def test_a_null_in_a_precondition_says_nothing() -> None:
    place = {"thread_id": "thr_0000000000007"}
    asked = {"thread_version": 3}
    plain, null, other = (
        request_hash(job(**place, **{"if": one}), REPLAY)
        for one in (asked, {**asked, "no_inbound_since": None}, {"thread_version": 4})
    )
    assert plain == null != other


def test_a_merge_keeps_the_paths_of_files_since_it_does_not_look_into_them() -> None:
    august, september, uploaded, again = (
        request_hash(job(on_duplicate="merge", attachments=[one]), MERGE)
        for one in (
            {"path": "/srv/08/sales.csv"},
            {"path": "/srv/09/sales.csv"},
            {"ref": "att_1"},
            {"ref": "att_2"},
        )
    )
    assert august != september
    assert uploaded == again


@pytest.mark.parametrize("default", [AutoSubmitted.AUTO_GENERATED, AutoSubmitted.NO])
def test_the_mailboxs_default_can_be_spelled_out_or_left_out(default: AutoSubmitted) -> None:
    silent, spelled = job(), job(auto_submitted=default.value)
    assert request_hash(other_spelling(silent, default), REPLAY) == request_hash(spelled, REPLAY)
    assert request_hash(other_spelling(spelled, default), REPLAY) == request_hash(silent, REPLAY)
    other = job(auto_submitted="auto-replied")
    assert other_spelling(other, default) is other


def test_hashes_stay_what_they_are() -> None:
    """An upgrade must not break an honest retry: when this fails, HASH_VERSION and the old form are needed."""
    found = job(
        **BASE, reply_to=[{"address": "r@x.example", "name": "Ré"}], send_at="2027-01-01T00:00:00Z"
    )
    assert (
        request_hash(found, REPLAY).hex()
        == "7d4e43546fbe63c1051f552ef78b087a7cfc43a99cb4bca4e357f24d8a491cdf"
    )
    assert (
        request_hash(found, MERGE).hex()
        == "c9fdf564937b5e1937cdae79ff8eb8c31096441b764a47ffe4c4191bd41232ce"
    )
    assert (
        key_hash("sales-report-2026-09").hex()
        == "1375d688898a0ece917096215c96b9f23cc015de2973356a2b5145019d9ed03b"
    )


WORDS = st.text(max_size=12)
PARTS = st.fixed_dictionaries(
    {"subject": st.text("ab", max_size=3), "text": st.text("ab", max_size=3)},
    optional={
        "html": st.text("ab", max_size=3),
        "to": st.lists(st.sampled_from(["a@x.example", "b@x.example"]), min_size=1, max_size=3),
        "cc": st.lists(st.sampled_from(["a@x.example", "c@x.example"]), max_size=2),
        "headers": st.dictionaries(st.sampled_from(["X-A", "X-B"]), st.text("ab", max_size=2)),
        "metadata": st.dictionaries(st.sampled_from(["a", "b"]), st.text("ab", max_size=2)),
        "priority": st.sampled_from(["high", "standard", "bulk"]),
        "copies": st.sampled_from(["individual", "conversation"]),
    },
)


def meaning(given_job: dict[str, object]) -> object:
    """What a job comes to, said in another way than the fingerprint does."""
    found = job(**given_job)
    named = tuple(tuple(found.spec.get(one) or ()) for one in ("to", "cc"))  # type: ignore[arg-type]
    return (
        found.subject,
        found.text,
        found.html,
        named,
        sorted(found.headers),
        sorted(found.metadata),
        found.lane,
        found.copies,
    )


@given(PARTS, PARTS)
def test_hashes_are_equal_just_when_jobs_are(
    one: dict[str, object], other: dict[str, object]
) -> None:
    hashes = request_hash(job(**one), REPLAY), request_hash(job(**other), REPLAY)
    assert (hashes[0] == hashes[1]) is (meaning(one) == meaning(other))


@given(PARTS, st.randoms(use_true_random=False))
def test_the_order_of_fields_says_nothing(one: dict[str, object], chance: object) -> None:
    names = list(one)
    chance.shuffle(names)  # type: ignore[attr-defined]
    assert request_hash(job(**one), REPLAY) == request_hash(
        job(**{name: one[name] for name in names}), REPLAY
    )


ATTACHED = {
    "same digest": ("d1", "d1", True),
    "other digest": ("d1", "d2", False),
    "gone now": ("d1", None, True),
    "was not readable": (None, "d1", True),
}


@pytest.mark.parametrize(("stored", "now", "is_same"), ATTACHED.values(), ids=ATTACHED)
def test_attachments_are_compared_by_content_where_it_can_be_read(
    stored: str | None,
    now: str | None,
    is_same: bool,  # noqa: FBT001 - a column of the table
) -> None:
    (spec,) = attachment_specs(job(attachments=[{"path": "/srv/a"}]))
    assert same_attachments([(spec, stored)], [({"path": "/srv/a", "pin": False}, now)]) is is_same


def test_other_attachments_are_other() -> None:
    assert not same_attachments([({"path": "/a"}, "d1")], [({"path": "/b"}, None)])
    assert not same_attachments([({"ref": "att_1"}, "d1")], [({"ref": "att_2"}, None)])
    assert same_attachments([({"ref": "att_1"}, "d1")], [({"path": "/b"}, "d1")])
    assert not same_attachments([({"path": "/a"}, None)], [])
    assert same_attachments([], [])


EVENT = "evt_0000000000007"


def test_an_answer_is_the_same_whatever_lease_it_carries() -> None:
    plain = job(in_reply_to_event=EVENT)
    same = job(
        in_reply_to_event=EVENT,
        lease={"id": "lse_0000000000004", "fence": 5},
        allow_new_recipients=False,
    )
    assert request_hash(plain, REPLAY) == request_hash(same, REPLAY)


@pytest.mark.parametrize(
    "changes",
    [
        {"in_reply_to_event": "evt_0000000000008"},
        {"in_reply_to_event": EVENT, "allow_new_recipients": True},
        {"in_reply_to_event": EVENT, "if": {"thread_version": 0}},
        {"in_reply_to_event": EVENT, "if": {"thread_version": 1}},
    ],
    ids=str,
)
def test_another_event_or_precondition_is_another_job(changes: dict[str, object]) -> None:
    assert request_hash(job(in_reply_to_event=EVENT), REPLAY) != request_hash(
        job(**changes), REPLAY
    )


def test_a_precondition_at_version_0_is_one() -> None:
    at = [job(thread_id="thr_0000000000003", **{"if": {"thread_version": n}}) for n in (0, 1)]
    assert request_hash(at[0], REPLAY) != request_hash(at[1], REPLAY)
