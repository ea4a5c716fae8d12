"""The unit that publishes a received message: thread, event, facts and what is pending, in one transaction (CONTRACT §5).

One event for each mailbox and mail, however often it comes: a later copy widens `envelope.to`. Only a genuine token
that names another thread makes one more event there, for who writes in that thread must hear of it; so does a second
such token in the same envelope, since it is for the peer's server to send one copy or two. A report is one event for
each delivery that it surely speaks of. Nothing of a message is published twice, wherever a crash comes in between:
what was received and is an event already is not looked at again.

What the mailbox does not want (core.refusal) is kept as an event in a thread of its own, wherever it says it belongs. It
changes nothing else: no version, no feedback, no sign by which later mail is tied to a thread, no known sender. It is
a copy of what was accepted before, but what was refused is no copy to what is accepted later.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from postroom.core.delivery import Feedback
from postroom.core.eventtypes import EventType, type_of_mail
from postroom.core.inmail import AutomationKind, Report
from postroom.core.matching import Confidence, MatchedBy, normalise_id
from postroom.core.refusal import RefusedBy
from postroom.ports.arriving import Doubled, Published, PublishResult
from postroom.ports.changes import Change, EventPublished
from postroom.store.sqlite.hold_begin import hold
from postroom.store.sqlite.inbox_copies import find_copies, note_copy, widen
from postroom.store.sqlite.inbox_event import Prepared, Refusal, Shown, event_data
from postroom.store.sqlite.inbox_evidence import with_evidence
from postroom.store.sqlite.inbox_known import is_first_time, note_sender
from postroom.store.sqlite.inbox_loops import free_for, held_picture, listen
from postroom.store.sqlite.inbox_match import Target, find_by_signs, find_by_tokens, note_peer
from postroom.store.sqlite.inbox_own import add_ref, find_sent_as
from postroom.store.sqlite.inbox_receive import close_received
from postroom.store.sqlite.inbox_report import Told, raise_feedback, read_told
from postroom.store.sqlite.inbox_suppress import suppress_told
from postroom.store.sqlite.log import NewEvent, append, next_seq, thread_picture
from postroom.store.sqlite.staged import name_attachment
from postroom.store.sqlite.unit import UnitResult
from postroom.store.sqlite.velocity import Loop


_NOWHERE: Final = Target(None, MatchedBy.NONE, Confidence.NONE, None)

_BEFORE: Final = "SELECT seq FROM event WHERE received = ? AND mailbox_id = ? ORDER BY seq LIMIT 1"
_OWN_ID: Final = "own-message-id"
_NEW: Final = "INSERT OR IGNORE INTO thread (number, mailbox_id, created_at) VALUES (?, ?, ?)"
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
        result = doubled or with_evidence(conn, one, self._publish(conn))
        if not one.is_last:
            return result
        done = close_received(conn, one.received.number, one.at)
        return UnitResult(result.value, (*result.changes, *done))

    def _publish(self, conn: sqlite3.Connection) -> UnitResult[PublishResult]:
        copies = find_copies(conn, self.prepared.publication)
        proven = find_by_tokens(conn, self.prepared.publication)
        found = self._parts(conn, proven)
        parts = [part for part in found if self._find_refusal(part) is None]
        if not parts:
            return self._refuse(conn, found[0], copies)
        if copies:
            parts = [
                part for part in parts if part.target.is_proof and part.target.thread not in copies
            ]
        if not parts:
            seqs = [copies[target.thread] for target in proven if target.thread in copies]
            seq = seqs[0] if seqs else next(iter(copies.values()))
            widen(conn, self.prepared.publication, seq)
            return UnitResult(Doubled(seq))
        self._name_files(conn)
        loop = None if copies else self._find_loop(conn, parts[0])
        if loop is not None:
            parts = [_looped(part, loop) for part in parts]
        told, others = self._write(conn, parts, next(iter(copies.values()), None))
        if not copies:
            self._remember(conn, parts[0].kind, told[0].thread_number)
        first, sign = told[0], parts[0].target.sign
        published = Published(first.seq, first.thread_number, first.type, sign)
        held = () if loop is None else hold(conn, loop)
        return UnitResult(published, (*told, *others, *held))

    def _find_loop(self, conn: sqlite3.Connection, part: "_Part") -> Loop | None:
        thread = self.thread if part.target.thread is None else part.target.thread
        return listen(conn, self.prepared.publication, thread, part.kind, next_seq(conn))

    def _refuse(
        self, conn: sqlite3.Connection, part: "_Part", copies: dict[int, int]
    ) -> UnitResult[PublishResult]:
        """Keep it where it can be looked at; it is told to nobody who does not ask."""
        by = self._find_refusal(part)
        before = copies or find_copies(conn, self.prepared.publication, is_refused=True)
        if by is None or before:
            return UnitResult(Doubled(next(iter(before.values()))))
        self._name_files(conn)
        alone = replace(part, target=_NOWHERE)
        told = self._write_one(
            conn,
            alone,
            refusal=Refusal(by, part.target.thread),
            is_first_time=self._is_first_time(conn),
        )
        published = Published(
            told.seq, told.thread_number, told.type, MatchedBy.NONE, refused_by=by
        )
        return UnitResult(published, (told,))

    def _find_refusal(self, part: "_Part") -> RefusedBy | None:
        one = self.prepared.publication
        target = part.target
        return one.wanted.find_refusal(
            one.authentication,
            part.kind,
            has_token=target.is_proof and target.confidence is Confidence.CERTAIN,
            is_known=target.thread is not None,
        )

    def _is_first_time(self, conn: sqlite3.Connection) -> bool:
        one = self.prepared.publication
        return is_first_time(conn, one.mailbox_id, one.mail)

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
        """The events, and what else changed with them."""
        one = self.prepared.publication
        written: list[EventPublished] = []
        others: list[Change] = []
        is_first = self._is_first_time(conn)
        for part in parts:
            thread = self.thread if part.target.thread is None else part.target.thread
            others += free_for(conn, one, thread, part.kind)
            event = self._write_one(conn, part, same_as=same_as, is_first_time=is_first)
            if part.told is not None:
                others += suppress_told(conn, one.mailbox_id, part.told, event.seq, one.at)
            written.append(event)
            if part.told is None and same_as is None:
                same_as = event.seq
        return tuple(written), tuple(others)

    def _write_one(
        self,
        conn: sqlite3.Connection,
        part: "_Part",
        *,
        is_first_time: bool,
        same_as: int | None = None,
        refusal: Refusal | None = None,
    ) -> EventPublished:
        one = self.prepared.publication
        thread = self._thread(conn, part, is_raised=refusal is None)
        shown = Shown(
            seq=next_seq(conn),
            thread=thread_picture(
                *tuple(thread),
                matched_by=part.target.sign,
                confidence=part.target.confidence,
            )
            | held_picture(conn, one, thread["number"], part.loop),
            target=part.target,
            kind=part.kind,
            told=part.told,
            refusal=refusal,
            same_as=same_as,
            is_first_time=is_first_time,
            found=part.found,
        )
        event = NewEvent(
            type=part.type,
            mailbox_id=one.mailbox_id,
            thread=thread["number"],
            delivery=None if part.target.own is None else part.target.own.number,
            at=one.at,
            data=event_data(self.prepared, shown),
            received=one.received.number,
            is_accepted=refusal is None,
        )
        told = append(conn, event)
        is_refused = refusal is not None
        note_copy(conn, one, thread["number"], told.seq, is_refused=is_refused)
        self._raise_feedback(conn, part)
        return told

    def _thread(self, conn: sqlite3.Connection, part: "_Part", *, is_raised: bool) -> sqlite3.Row:
        """The thread of a part as it stands with this mail in it."""
        one = self.prepared.publication
        sql = _RAISE if is_raised and part.kind is AutomationKind.HUMAN else _THREAD
        row: sqlite3.Row | None = conn.execute(sql, (part.target.thread,)).fetchone()
        if row is not None:
            return row
        conn.execute(_NEW, (self.thread, one.mailbox_id, one.at))  # or the old number is damaged
        made: sqlite3.Row = conn.execute(sql, (self.thread,)).fetchone()
        return made

    def _raise_feedback(self, conn: sqlite3.Connection, part: "_Part") -> None:
        own, author = part.target.own, self.prepared.publication.mail.author
        if own is None:
            return
        if part.told is not None:
            if part.told.is_verified and part.told.fact is not None:
                raise_feedback(conn, own.number, part.told.fact.feedback)
            return
        is_hers = author is not None and own.is_recipient(author)
        is_sure = part.target.is_proof or (is_hers and part.target.confidence is Confidence.STRONG)
        if part.kind is AutomationKind.HUMAN and is_sure:
            raise_feedback(conn, own.number, Feedback.REPLIED)

    def _remember(self, conn: sqlite3.Connection, kind: AutomationKind, thread: int) -> None:
        """By what later mail may be tied to this one."""
        one = self.prepared.publication
        message_id = normalise_id(one.mail.message_id or "")
        if kind is AutomationKind.HUMAN:
            note_sender(conn, one.mailbox_id, one.mail, one.at)
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
    found = (loop.evidence, *part.found)
    return replace(part, kind=AutomationKind.LOOP, found=found, loop=loop)
