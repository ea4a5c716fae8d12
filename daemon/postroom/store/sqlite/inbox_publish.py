"""The unit that publishes a received message: thread, event, facts and what is pending, in one transaction (CONTRACT §5).

One event for each mailbox and mail, however often it comes: a later copy widens `envelope.to`. Only a genuine token
that names another thread makes one more event there, for who writes in that thread must hear of it; so does a second
such token in the same envelope, since it is for the peer's server to send one copy or two. A report is one event for
each delivery that it surely speaks of. Nothing of a message is published twice, wherever a crash comes in between:
what was received and is an event already is not looked at again.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from operator import itemgetter
from typing import Any, Final

from postroom.core.delivery import Feedback
from postroom.core.eventtypes import EventType, type_of_mail
from postroom.core.inmail import AutomationKind, Report
from postroom.core.instant import Instant, format_instant, micros
from postroom.core.matching import Confidence, MatchedBy, normalise_id
from postroom.ports.arriving import Doubled, Published, PublishResult
from postroom.ports.changes import Change, EventPublished
from postroom.store.sqlite.holds import Person, free_by_person, held_since, hold
from postroom.store.sqlite.inbox_event import Prepared, Shown, event_data, widened
from postroom.store.sqlite.inbox_match import Target, find_by_signs, find_by_tokens, note_peer
from postroom.store.sqlite.inbox_own import add_ref, find_sent_as
from postroom.store.sqlite.inbox_receive import close_received
from postroom.store.sqlite.inbox_report import Told, raise_feedback, read_told
from postroom.store.sqlite.log import NewEvent, append, next_seq, thread_picture
from postroom.store.sqlite.staged import name_attachment
from postroom.store.sqlite.unit import UnitResult
from postroom.store.sqlite.velocity import Heard, Loop, find_loop


DEDUPE_FOR: Final = timedelta(days=7)

_BEFORE: Final = "SELECT seq FROM event WHERE received = ? AND mailbox_id = ? ORDER BY seq LIMIT 1"
_COPIES: Final = """
    SELECT thread, event FROM dedupe WHERE mailbox_id = ? AND digest = ? AND created_at >= ?"""
_NOTE_COPY: Final = """
    INSERT INTO dedupe (mailbox_id, digest, thread, event, created_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (mailbox_id, digest, thread) DO UPDATE SET event = excluded.event, created_at = excluded.created_at
    WHERE created_at < ?"""
_DATA: Final = "SELECT data FROM event WHERE seq = ?"
_WIDEN: Final = "UPDATE event SET data = ? WHERE seq = ?"

_OWN_ID: Final = "own-message-id"

_NEW_THREAD: Final = "INSERT INTO thread (number, mailbox_id, created_at) VALUES (?, ?, ?)"
_THREAD: Final = """
    SELECT number, version, conversation_key, metadata FROM thread WHERE number = ?"""
_RAISE: Final = """
    UPDATE thread SET version = version + 1 WHERE number = ?
    RETURNING number, version, conversation_key, metadata"""


@dataclass(frozen=True, slots=True)
class Publishing:
    """The unit. `thread` is a number that nobody else gets, for a thread of its own."""

    prepared: Prepared
    thread: int
    has_spool_file: Callable[[str], bool]

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[PublishResult]:
        """What it became.

        Raises: StoreUnavailable when a file that it names is being removed from the spool.
        """
        one = self.prepared.publication
        before = conn.execute(_BEFORE, (one.received.number, one.mailbox_id)).fetchone()
        doubled: UnitResult[PublishResult] | None
        doubled = None if before is None else UnitResult(Doubled(before["seq"]))
        result = doubled or self._publish(conn)
        if one.is_last:
            close_received(conn, one.received.number, one.at)
        return result

    def _publish(self, conn: sqlite3.Connection) -> UnitResult[PublishResult]:
        one = self.prepared.publication
        copies = self._find_copies(conn)
        proven = find_by_tokens(conn, one)
        parts = self._parts(conn, proven)
        if copies:
            parts = [
                part for part in parts if part.target.is_proof and part.target.thread not in copies
            ]
        if not parts:
            seqs = [copies[target.thread] for target in proven if target.thread in copies]
            seq = seqs[0] if seqs else next(iter(copies.values()))
            self._widen(conn, seq)
            return UnitResult(Doubled(seq))
        self._name_files(conn)
        loop = None if copies else self._find_loop(conn, parts)
        if loop is not None:
            parts = [_looped(part, loop) for part in parts]
        told, freed = self._write(conn, parts, next(iter(copies.values()), None))
        if not copies:
            self._remember(conn, parts[0].kind, told[0].thread_number)
        first, sign = told[0], parts[0].target.sign
        published = Published(first.seq, first.thread_number, first.type, sign)
        held = () if loop is None else hold(conn, loop)
        return UnitResult(published, (*told, *freed, *held))

    def _find_loop(self, conn: sqlite3.Connection, parts: list["_Part"]) -> Loop | None:
        """The loop that this mail makes, if it is the one too many; counted once, however many events it is."""
        one, first = self.prepared.publication, parts[0]
        sender = one.mail.sender
        heard = Heard(
            mailbox_id=one.mailbox_id,
            thread=self.thread if first.target.thread is None else first.target.thread,
            sender="" if sender is None or one.mail.is_sender_ambiguous else sender.address,
            kind=first.kind,
            at=one.received.arrival.at,
            event=next_seq(conn),
        )
        return find_loop(conn, heard)

    def _find_copies(self, conn: sqlite3.Connection) -> dict[int | None, int]:
        """The events that this mail is already, by thread, the first one first."""
        one = self.prepared.publication
        digest, since = bytes.fromhex(one.mail.dedupe), one.at - micros(DEDUPE_FOR)
        found = conn.execute(_COPIES, (one.mailbox_id, digest, since)).fetchall()
        return {row["thread"]: row["event"] for row in sorted(found, key=itemgetter("event"))}

    def _parts(self, conn: sqlite3.Connection, proven: tuple[Target, ...]) -> list["_Part"]:
        """The events that this mail is to be."""
        one = self.prepared.publication
        mail = one.mail
        if mail.automation is AutomationKind.REPORT and mail.report is not None:
            return self._report_parts(conn, mail.report, proven)
        own_id = normalise_id(mail.message_id or "")
        own = find_sent_as(conn, one.mailbox_id, own_id) if own_id else ()
        kind = AutomationKind.LOOP if own else mail.automation
        targets = list(proven)
        if not targets and own:
            targets = [Target(own[0].thread, MatchedBy.REFERENCES, Confidence.STRONG, own[0])]
        targets = targets or [find_by_signs(conn, one)]
        found = (_OWN_ID,) if own else ()
        return [_Part(target, kind, None, found) for target in targets]

    def _report_parts(
        self, conn: sqlite3.Connection, report: Report, proven: tuple[Target, ...]
    ) -> list["_Part"]:
        one = self.prepared.publication
        returned = next((each for each in proven if each.sign is MatchedBy.RETURN_PATH), None)
        tolds = read_told(conn, one.mailbox_id, report, returned)
        elsewhere = proven[0] if proven else None
        return [
            _Part(told.target or elsewhere or find_by_signs(conn, one), AutomationKind.REPORT, told)
            for told in tolds
        ]

    def _write(
        self, conn: sqlite3.Connection, parts: list["_Part"], same_as: int | None
    ) -> tuple[tuple[EventPublished, ...], tuple[Change, ...]]:
        written: list[EventPublished] = []
        freed: list[Change] = []
        for part in parts:
            event, changes = self._write_one(conn, part, same_as)
            written.append(event)
            freed += changes
            if part.told is None and same_as is None:
                same_as = event.seq
        return tuple(written), tuple(freed)

    def _write_one(
        self, conn: sqlite3.Connection, part: "_Part", same_as: int | None
    ) -> tuple[EventPublished, tuple[Change, ...]]:
        one = self.prepared.publication
        thread = self._thread(conn, part)
        is_accepted = part.target.thread is not None or one.accepts_new
        freed: tuple[Change, ...] = ()
        if part.kind is AutomationKind.HUMAN and is_accepted:
            sender = "" if one.mail.sender is None else one.mail.sender.address
            freed = free_by_person(
                conn, Person(one.mailbox_id, thread["number"], sender, one.received.arrival.at)
            )
        match: dict[str, Any] = {
            "matched_by": part.target.sign,
            "confidence": part.target.confidence,
        }
        shown = Shown(
            seq=next_seq(conn),
            thread={
                **thread_picture(*tuple(thread), **match),
                **self._held(conn, part, thread["number"]),
            },
            target=part.target,
            kind=part.kind,
            found=part.found,
            told=part.told,
            is_accepted=is_accepted,
            same_as=same_as,
        )
        event = NewEvent(
            type=part.type,
            mailbox_id=one.mailbox_id,
            thread=thread["number"],
            delivery=None if part.target.own is None else part.target.own.number,
            at=one.at,
            data=event_data(self.prepared, shown),
            received=one.received.number,
            is_accepted=is_accepted,
        )
        told = append(conn, event)
        digest, stale = bytes.fromhex(one.mail.dedupe), one.at - micros(DEDUPE_FOR)
        copy = (one.mailbox_id, digest, thread["number"], told.seq, one.at)
        conn.execute(_NOTE_COPY, (*copy, stale))
        self._raise_feedback(conn, part)
        return told, freed

    def _held(self, conn: sqlite3.Connection, part: "_Part", thread: int) -> dict[str, object]:
        """That the thread is held, where a loop was found in it, now or before."""
        if part.loop is not None and part.loop.thread == thread:
            at: Instant | None = part.loop.at
        else:
            at = held_since(conn, self.prepared.publication.mailbox_id, thread)
        return {} if at is None else {"held": True, "held_at": format_instant(at)}

    def _thread(self, conn: sqlite3.Connection, part: "_Part") -> sqlite3.Row:
        """The thread of a part as it stands with this mail in it."""
        one = self.prepared.publication
        number = part.target.thread
        if number is None:
            number = self.thread
            conn.execute(_NEW_THREAD, (number, one.mailbox_id, one.at))
        sql = _RAISE if part.kind is AutomationKind.HUMAN else _THREAD
        row: sqlite3.Row = conn.execute(sql, (number,)).fetchone()
        return row

    def _raise_feedback(self, conn: sqlite3.Connection, part: "_Part") -> None:
        own, mail = part.target.own, self.prepared.publication.mail
        if own is None:
            return
        if part.told is not None:
            if part.told.is_verified and part.told.fact is not None:
                raise_feedback(conn, own.number, part.told.fact.feedback)
            return
        is_hers = mail.sender is not None and own.is_recipient(mail.sender.address)
        is_sure = part.target.is_proof or (is_hers and part.target.confidence is Confidence.STRONG)
        if part.kind is AutomationKind.HUMAN and is_sure:
            raise_feedback(conn, own.number, Feedback.REPLIED)

    def _remember(self, conn: sqlite3.Connection, kind: AutomationKind, thread: int) -> None:
        """By what later mail may be tied to this one."""
        one = self.prepared.publication
        message_id = normalise_id(one.mail.message_id or "")
        if kind in {AutomationKind.LOOP, AutomationKind.REPORT}:
            return
        if message_id:
            add_ref(conn, one.mailbox_id, message_id, thread, None, one.at)
        note_peer(conn, one, thread)

    def _name_files(self, conn: sqlite3.Connection) -> None:
        one = self.prepared.publication
        for file in (*one.attachments, one.html_ref, one.text_ref):
            if file is not None:
                name_attachment(conn, file, one.received.number, one.at, self.has_spool_file)

    def _widen(self, conn: sqlite3.Connection, seq: int) -> None:
        row = conn.execute(_DATA, (seq,)).fetchone()
        data = row and widened(row["data"], self.prepared.publication.recipients)
        if data:
            conn.execute(_WIDEN, (data, seq))


@dataclass(frozen=True, slots=True)
class _Part:
    """One event of a mail: where it goes, who wrote it, what it says of a delivery.

    `found` is evidence that only the store has; `loop` is the one that the mail makes.
    """

    target: Target
    kind: AutomationKind
    told: Told | None
    found: tuple[str, ...] = ()
    loop: Loop | None = None

    @property
    def type(self) -> EventType:
        if self.told is not None and self.told.fact is not None:
            return self.told.fact.type
        return type_of_mail(self.kind, is_known=self.target.thread is not None)


def _looped(part: _Part, loop: Loop) -> _Part:
    return replace(part, kind=AutomationKind.LOOP, found=(loop.evidence, *part.found), loop=loop)
