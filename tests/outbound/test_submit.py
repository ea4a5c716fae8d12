"""A job is handed in: what is stored, what it is called, and where it goes."""

import threading
from typing import Any

import pytest

from postroom.core.instant import SECOND
from support.mail import NOW, parsed, rendered, spec
from support.submitting import Desk, refused, taken


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


async def test_a_thread_that_is_there_is_no_problem() -> None:
    desk = Desk()
    desk.intake.threads.add(1)
    assert taken(await desk.post(thread_id="thr_0000000000001")).thread_number == 1


async def test_what_is_not_an_object_is_a_problem() -> None:
    result = refused(await Desk().submitter.submit([], 0, "k", "junk"))
    assert [one.pointer for one in result.problems] == [""]


class Witness(dict[str, Any]):
    """Knows in which threads it was read."""

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.threads: set[int] = set()

    def get(self, name: str, default: Any = None) -> Any:
        if name == "trace_id":  # nobody asks for it but who reads the whole
            self.threads.add(threading.get_ident())
        return super().get(name, default)


@pytest.mark.parametrize(
    ("to", "is_apart"),
    [
        ([f"u{n}@one.example" for n in range(1000)], False),
        ([f"u{n}@m\xfcller{n}.example" for n in range(100)], False),
        ([f"u{n}@m\xfcller{n}.example" for n in range(101)], True),
        ([{"address": f"\xfc{n}@one.example"} for n in range(101)], True),
        ([f'"u.{n}"@one.example' for n in range(101)], True),
    ],
    ids=["plain ones", "some", "many", "many with names", "many in quotes"],
)
async def test_many_addresses_that_take_long_to_judge_do_not_hold_the_others_up(
    to: list[Any], *, is_apart: bool
) -> None:
    witness = Witness(spec(to=to))
    taken(await Desk().submitter.submit(witness, 0))
    assert len(witness.threads) == 1
    assert (threading.get_ident() not in witness.threads) is is_apart
