"""What an answer needs of the conversation that it goes into: the event, the messages before it, who takes part.

Of a long conversation only its beginning and its latest messages are read; References keep no more.
"""

import sqlite3
from collections.abc import Sequence
from typing import Final

import msgspec

from postroom.core.authentication import Verdict
from postroom.core.inmail import LIST_IN_FROM, AutomationKind, Person
from postroom.core.matching import address_key, quick_key
from postroom.core.replying import Answered
from postroom.store.sqlite.accept_unit import FIND_THREAD
from postroom.store.sqlite.spoiled import find_document


_LATEST: Final = 40

_EVENT: Final = "SELECT seq, mailbox_id, thread, data FROM event WHERE seq = ?"
# What never went out is nobody's parent.
_SENT: Final = """
    SELECT message_id, min(coalesce(date_at, created_at)) AS at, min(number) AS number FROM delivery
    WHERE thread = ? AND state NOT IN ('failed', 'cancelled', 'skipped')
    GROUP BY message_id ORDER BY at {order}, number {order} LIMIT ?"""
_CAME: Final = """
    SELECT data, created_at AS at, seq AS number FROM event
    WHERE thread = ? AND type IN ('reply.received', 'message.received', 'list_mail.received')
    ORDER BY seq {order} LIMIT ?"""
_OURS: Final = "SELECT DISTINCT recipient_key FROM delivery WHERE thread = ?"


class _Person(msgspec.Struct):
    name: str
    address: str


class _Message(msgspec.Struct, rename={"sender": "from"}):
    message_id: str | None = None
    in_reply_to: str | None = None
    references: tuple[str, ...] = ()
    sender: _Person | None = None
    from_ambiguous: bool = False
    to: tuple[_Person, ...] = ()
    cc: tuple[_Person, ...] = ()
    reply_to: tuple[_Person, ...] = ()
    subject: str = ""


class _Envelope(msgspec.Struct, rename={"sender": "from"}):
    sender: str = ""


class _Automation(msgspec.Struct):
    kind: AutomationKind
    evidence: tuple[str, ...] = ()


class _Dmarc(msgspec.Struct):
    domain: str | None = None


class _Authentication(msgspec.Struct):
    verdict: str | None = None
    from_organisation: str | None = None
    reply_to_organisation: str | None = None
    dmarc: _Dmarc | None = None


class _Event(msgspec.Struct):
    """The part of a stored event that counts here; one about a delivery has no message."""

    message: _Message | None = None
    envelope: _Envelope | None = None
    automation: _Automation | None = None
    authentication: _Authentication | None = None


def find_answered(conn: sqlite3.Connection, seq: int) -> Answered | None:
    """An event with its thread as an answer needs them."""
    row = conn.execute(_EVENT, (seq,)).fetchone()
    if row is None:
        return None
    event = _read(row)
    message = event.message or _Message()
    thread = row["thread"]
    is_mail = event.message is not None and event.automation is not None
    found = event.authentication or _Authentication()
    before = (message.in_reply_to,) if message.in_reply_to else ()
    return Answered(
        seq=row["seq"],
        mailbox_id=row["mailbox_id"],
        thread_number=thread,
        kind=event.automation.kind if is_mail and event.automation else None,
        envelope_from=event.envelope.sender if event.envelope else "",
        sender=None if message.sender is None else _person(message.sender),
        is_sender_ambiguous=message.from_ambiguous,
        to=_people(message.to),
        cc=_people(message.cc),
        reply_to=_people(message.reply_to),
        subject=message.subject,
        message_id=message.message_id,
        references=message.references or before,
        chain=_chain(conn, thread),
        participants=_participants(conn, thread),
        is_vouched_for=found.verdict == Verdict.PASS,
        from_organisation=found.from_organisation,
        reply_to_organisation=found.reply_to_organisation,
        is_from_published=found.dmarc is None or found.dmarc.domain is not None,
        is_list_in_from=event.automation is not None and LIST_IN_FROM in event.automation.evidence,
    )


def find_chain(conn: sqlite3.Connection, thread: int) -> tuple[str, ...]:
    """Message-IDs of a thread, oldest first."""
    return _chain(conn, thread)


def find_chains(
    conn: sqlite3.Connection, mailbox_id: str, conversation_id: str, keys: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """The same of each thread of this name, by the key that tells it from the others."""
    found: dict[str, tuple[str, ...]] = {}
    for key in keys:
        row = conn.execute(FIND_THREAD, (mailbox_id, conversation_id, key)).fetchone()
        if row is not None:
            found[key] = _chain(conn, row["number"])
    return found


def _read(row: sqlite3.Row) -> _Event:
    """One that is damaged says nothing, and stops no answer to another."""
    return find_document(row["data"], _Event) or _Event()


def _chain(conn: sqlite3.Connection, thread: int) -> tuple[str, ...]:
    """In the order of their time; of two at once ours is the first."""
    found: dict[str, tuple[int, bool, int]] = {}
    for order, limit in (("ASC", 1), ("DESC", _LATEST)):
        for row in conn.execute(_SENT.format(order=order), (thread, limit)):
            found.setdefault(row["message_id"], (row["at"], False, row["number"]))
        for row in conn.execute(_CAME.format(order=order), (thread, limit)):
            message = _read(row).message
            if message is not None and message.message_id:
                found.setdefault(message.message_id, (row["at"], True, row["number"]))
    return tuple(sorted(found, key=lambda id_: found[id_]))


def _participants(conn: sqlite3.Connection, thread: int) -> frozenset[str]:
    """Keys of whom we wrote to, and of those whom people's mail names."""
    keys = {row["recipient_key"] for row in conn.execute(_OURS, (thread,))}
    for row in conn.execute(_CAME.format(order="DESC"), (thread, _LATEST)):
        event = _read(row)
        message = event.message or _Message()
        if message.sender is not None:
            keys.add(address_key(message.sender.address))
        if event.automation and event.automation.kind is AutomationKind.HUMAN:
            keys |= {quick_key(one.address) for one in (*message.to, *message.cc)}
    return frozenset(keys)


def _people(given: tuple[_Person, ...]) -> tuple[Person, ...]:
    return tuple(_person(one) for one in given)


def _person(given: _Person) -> Person:
    return Person(given.name, given.address)
