"""Finding the thread of a received message, in the order of CONTRACT §5 (see core.matching)."""

import sqlite3
from dataclasses import dataclass
from typing import Final

import msgspec

from postroom.core.inmail import InMail
from postroom.core.instant import Instant, micros
from postroom.core.matching import (
    WEAK_FOR,
    Confidence,
    MatchedBy,
    address_key,
    find_ids,
    normalise_id,
    sign_of,
    sort_tokens,
    thread_root,
)
from postroom.core.subject import answers_something, subject_key
from postroom.ports.arriving import Publication
from postroom.store.sqlite.inbox_own import Own, find_named, find_own
from postroom.store.sqlite.spoiled import find_document


# Where tokens end early a thread may go before the weak signs of it do.
_PEER: Final = """
    SELECT p.thread FROM thread_peer AS p JOIN thread AS t ON t.number = p.thread
    WHERE p.mailbox_id = ? AND p.peer_key = ? AND p.clue = ? AND p.last_at >= ?"""
_NOTE_PEER: Final = """
    INSERT INTO thread_peer (mailbox_id, peer_key, clue, thread, last_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (mailbox_id, peer_key, clue) DO UPDATE SET thread = excluded.thread, last_at = excluded.last_at"""
# What we wrote to this peer last; who writes to one address more often than that has threads that subjects can't tell.
_WRITTEN: Final = """
    SELECT d.number, d.created_at, j.spec FROM delivery AS d JOIN job AS j ON j.number = d.job
    WHERE d.recipient_key = ? AND d.mailbox_id = ? AND d.state IN ('sent', 'uncertain')
    ORDER BY d.job DESC LIMIT 20"""


@dataclass(frozen=True, slots=True)
class Target:
    """Where an event goes. `thread` None = to a new one; `own` is the delivery that it answers."""

    thread: int | None
    sign: MatchedBy
    confidence: Confidence
    own: Own | None

    @property
    def is_proof(self) -> bool:
        """Whether a genuine token says so."""
        return self.sign in {MatchedBy.REPLY_TOKEN, MatchedBy.RETURN_PATH}


class _Spec(msgspec.Struct):
    """The part of a stored spec that says what it was about."""

    subject: str = ""


def find_by_tokens(conn: sqlite3.Connection, publication: Publication) -> tuple[Target, ...]:
    """The threads that genuine tokens name, each once, the best first."""
    found: dict[int, Target] = {}
    for token in sort_tokens(publication.tokens):
        own = find_own(conn, publication.mailbox_id, token.number)
        if own is not None:
            found.setdefault(own.thread, Target(own.thread, *sign_of(token), own))
    return tuple(found.values())


def find_by_signs(conn: sqlite3.Connection, publication: Publication) -> Target:
    """The thread that ids, Thread-Index or subject name; a new one, when none does."""
    mail, mailbox_id = publication.mail, publication.mailbox_id
    author = mail.author or ""
    ids = [*find_ids(mail)]
    if mail.report is not None and mail.report.original_message_id is not None:
        ids.append((MatchedBy.REFERENCES, normalise_id(mail.report.original_message_id)))
    for sign, message_id in ids:
        named = find_named(conn, mailbox_id, message_id)
        if named is not None:
            return Target(named.thread, sign, Confidence.STRONG, named.pick(author))
    weak = _find_weak(conn, publication, author) if author else None
    return weak or Target(None, MatchedBy.NONE, Confidence.NONE, None)


def note_peer(conn: sqlite3.Connection, publication: Publication, thread: int) -> None:
    """Remember by which weak signs later mail of this sender may be tied to the thread."""
    author = publication.mail.author
    if author is not None:
        for clue in _clues(publication.mail).values():
            row = (publication.mailbox_id, address_key(author), clue, thread, publication.at)
            conn.execute(_NOTE_PEER, row)


def _find_weak(conn: sqlite3.Connection, publication: Publication, author: str) -> Target | None:
    mail, mailbox_id, peer = publication.mail, publication.mailbox_id, address_key(author)
    since = Instant(publication.at - micros(WEAK_FOR))
    for sign, clue in _clues(mail).items():
        if sign is MatchedBy.SUBJECT and not answers_something(mail.subject):
            continue
        row = conn.execute(_PEER, (mailbox_id, peer, clue, since)).fetchone()
        if row is not None:
            return Target(row["thread"], sign, Confidence.WEAK, None)
    if not answers_something(mail.subject):
        return None
    wanted = subject_key(mail.subject)
    for row in conn.execute(_WRITTEN, (peer, mailbox_id)).fetchall() if wanted else ():
        if row["created_at"] >= since and _subject_of(row["spec"]) == wanted:
            own = find_own(conn, mailbox_id, row["number"])
            thread = None if own is None else own.thread
            return Target(thread, MatchedBy.SUBJECT, Confidence.WEAK, own)
    return None


def _subject_of(spec: str) -> str:
    told = find_document(spec, _Spec)
    return "" if told is None else subject_key(told.subject)


def _clues(mail: InMail) -> dict[MatchedBy, str]:
    clues: dict[MatchedBy, str] = {}
    root = thread_root(mail.thread_index)
    if root is not None:
        clues[MatchedBy.THREAD_INDEX] = f"i:{root}"
    subject = subject_key(mail.subject)
    if subject:
        clues[MatchedBy.SUBJECT] = f"s:{subject}"
    return clues
