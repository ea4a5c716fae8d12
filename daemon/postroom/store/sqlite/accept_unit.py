"""The unit that accepts: a job, its deliveries, threads, key, body, spool references, history and events, whole.

`accept` is a pure function of the store and the new job, except that for a spool file without a row it asks whether the
file is there: a file is named only by a row made here or by staging, and is removed only after a transaction that saw
no such row, so both orders of the two transactions are safe.
"""

import sqlite3
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from postroom.core.body import FileSegment
from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.job import OnDuplicate
from postroom.core.reason import ReasonCode
from postroom.ports.accepting import (
    Accepted,
    AcceptedDelivery,
    AcceptResult,
    NewDelivery,
    NewJob,
    StagedGone,
    UnknownThread,
)
from postroom.ports.changes import Change, JobChanged, RowsWaiting, StateMoved
from postroom.store.sqlite.accept_key import (
    add_recipients,
    find_key_row,
    find_known_recipients,
    give_back_key,
    hash_recipient,
    judge_merge,
    judge_replay,
    take_key,
)
from postroom.store.sqlite.accept_reply import find_reply_obstacle, note_answer
from postroom.store.sqlite.bodies import pack
from postroom.store.sqlite.conditions import condition_column
from postroom.store.sqlite.events import write_event
from postroom.store.sqlite.holds import Place, is_held
from postroom.store.sqlite.transition import settle
from postroom.store.sqlite.unit import UnitResult


_PENDING: Final = DeliveryState.PENDING
_FAILED: Final = DeliveryState.FAILED
_HELD: Final = DeliveryState.HELD

_HAS_THREAD: Final = "SELECT 1 FROM thread WHERE number = ? AND mailbox_id = ?"
FIND_THREAD: Final = """
    SELECT number FROM thread WHERE mailbox_id = ? AND conversation_key = ? AND recipient_key = ?"""
_THREAD: Final = """
    INSERT INTO thread (number, mailbox_id, conversation_key, recipient_key, created_at, metadata)
    VALUES (?, ?, ?, ?, ?, ?)"""
_SPOOL: Final = "SELECT doomed_at FROM spool_file WHERE sha256 = ?"
_NEW_SPOOL: Final = """
    INSERT INTO spool_file (sha256, size_bytes, refs, created_at) VALUES (?, ?, 1, ?)
    ON CONFLICT (sha256) DO UPDATE SET refs = refs + 1"""
_USE_STAGED: Final = "UPDATE staged SET uses = uses + 1 WHERE ref = ?"
_HAS_STAGED: Final = "SELECT 1 FROM staged WHERE ref = ?"
_BODY: Final = """
    INSERT INTO body (number, content, segments, size_bytes, serializer_version) VALUES (?, ?, ?, ?, ?)"""
_JOB: Final = """
    INSERT INTO job (number, mailbox_id, principal_uid, created_at, trace_id, idempotency_key, conversation_key, lane,
                     copies, spec, attachment_digests, metadata, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_REOPEN: Final = "UPDATE job SET settled_status = NULL, settled_at = NULL WHERE number = ?"
_DELIVERY: Final = """
    INSERT INTO delivery (number, job, mailbox_id, lane, recipient, recipient_key, domain, state, reason_code, due_at,
                          not_after, thread, message_id, head, has_attachments, created_at, settled_by, settled_at,
                          envelope_from, if_json, hold_reason)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_HISTORY: Final = """
    INSERT INTO history (delivery, after, at, reason_code, by) VALUES (?, ?, ?, ?, ?)"""
# Asked once for a job of a thousand deliveries.
_STOPPED: Final = """
    SELECT EXISTS (SELECT 1 FROM suppression WHERE mailbox_id IN ('', ?)) AS has_suppressed,
           EXISTS (SELECT 1 FROM hold WHERE mailbox_id = ?) AS has_held"""
_SUPPRESSED: Final = """
    SELECT 1 FROM suppression WHERE address_key = ? AND mailbox_id IN ('', ?)"""


def accept(
    conn: sqlite3.Connection, new: NewJob, has_spool_file: Callable[[str], bool]
) -> UnitResult[AcceptResult]:
    """Store a new job, add to a known one, or say what stands in the way."""
    if not take_key(conn, new):
        known = find_key_row(conn, new)
        is_merge = new.job.on_duplicate is OnDuplicate.MERGE
        return _merge(conn, new, known) if is_merge else UnitResult(judge_replay(known, new))
    refused = find_reply_obstacle(conn, new) or _find_obstacle(conn, new, has_spool_file)
    if refused is not None:
        give_back_key(conn, new)
        return UnitResult(refused)
    _write_body(conn, new)
    _write_job(conn, new)
    note_answer(conn, new)
    written, told = _write_deliveries(conn, new, new.number, new.deliveries)
    changes = (*_changes(new, new.number, written), *told)
    return UnitResult(Accepted(new.number, written, 0), changes)


def has_thread(conn: sqlite3.Connection, mailbox_id: str, number: int) -> bool:
    """Whether the mailbox has this thread."""
    return conn.execute(_HAS_THREAD, (number, mailbox_id)).fetchone() is not None


def _merge(conn: sqlite3.Connection, new: NewJob, known: sqlite3.Row) -> UnitResult[AcceptResult]:
    """Add the recipients that the first job under this key did not have; they get that job's own body."""
    before = find_known_recipients(conn, new)
    added = tuple(one for one in new.deliveries if hash_recipient(one.recipient_key) not in before)
    answer = judge_merge(known, new, has_new_recipients=bool(added))
    if answer is not None:
        return UnitResult(answer)
    job: int = known["job"]
    written, told = _write_deliveries(conn, new, job, added)
    add_recipients(conn, new, job, tuple(one.recipient_key for one in added))
    if any(one.state is not _FAILED for one in written):
        conn.execute(_REOPEN, (job,))
    accepted = Accepted(job, written, len(new.deliveries) - len(added))
    return UnitResult(accepted, (*_changes(new, job, written), *told))


def _find_obstacle(
    conn: sqlite3.Connection, new: NewJob, has_spool_file: Callable[[str], bool]
) -> AcceptResult | None:
    thread = new.job.thread_number
    if thread is not None and not has_thread(conn, new.job.mailbox_id, thread):
        return UnknownThread()
    for ref in new.staged_refs:
        if not conn.execute(_HAS_STAGED, (ref,)).fetchone():
            return StagedGone(ref)
    for sha256 in _spool_files(new):
        row = conn.execute(_SPOOL, (sha256,)).fetchone()
        is_there = has_spool_file(sha256) if row is None else row["doomed_at"] is None
        if not is_there:
            return StagedGone(sha256)
    return None


def _write_body(conn: sqlite3.Connection, new: NewJob) -> None:
    packed = pack(new.body)
    conn.execute(
        _BODY,
        (new.number, packed.content, packed.segments, packed.size_bytes, new.serializer_version),
    )
    for sha256, size in _spool_files(new).items():
        conn.execute(_NEW_SPOOL, (sha256, size, new.at))
    for ref in new.staged_refs:
        conn.execute(_USE_STAGED, (ref,))


def _write_job(conn: sqlite3.Connection, new: NewJob) -> None:
    job = new.job
    spec = {name: value for name, value in job.spec.items() if name not in {"text", "html"}}
    row = (
        *(new.number, job.mailbox_id, new.principal_uid, new.at, new.trace_id),
        *(new.idempotency_key, job.conversation_id, job.lane, job.copies, _json(spec)),
        _json(new.attachment_digests) if job.attachments else None,
        _metadata(new),
        new.number,
    )
    conn.execute(_JOB, row)


def _write_deliveries(
    conn: sqlite3.Connection, new: NewJob, job: int, deliveries: tuple[NewDelivery, ...]
) -> tuple[tuple[AcceptedDelivery, ...], tuple[Change, ...]]:
    threads: dict[int, int] = {}
    stopped = conn.execute(_STOPPED, (new.job.mailbox_id, new.job.mailbox_id)).fetchone()
    written = tuple(
        [_accepted(conn, new, one, _thread(conn, new, one, threads), stopped) for one in deliveries]
    )
    pairs = list(zip(deliveries, written, strict=True))
    conn.executemany(_DELIVERY, [_row(new, job, one, made) for one, made in pairs])
    by = f"uid:{new.principal_uid}"
    conn.executemany(
        _HISTORY, [(made.number, made.state, new.at, made.reason_code, by) for made in written]
    )
    failed = [made.number for made in written if made.state is _FAILED]
    told = tuple([write_event(conn, "delivery.failed", number, new.at) for number in failed])
    if failed:
        settle(conn, job, new.at)
    return written, told


def _accepted(
    conn: sqlite3.Connection, new: NewJob, one: NewDelivery, thread: int, stopped: sqlite3.Row
) -> AcceptedDelivery:
    """The state in which a delivery begins; `stopped` says what there is for its mailbox that stops any."""
    mailbox_id = new.job.mailbox_id
    names = (one.recipient_key, mailbox_id)
    if stopped["has_suppressed"] and conn.execute(_SUPPRESSED, names).fetchone():
        return AcceptedDelivery(one.number, _FAILED, ReasonCode.RECIPIENT_SUPPRESSED, thread)
    if stopped["has_held"] and is_held(
        conn, Place(mailbox_id, thread, one.recipient_key, one.domain)
    ):
        return AcceptedDelivery(one.number, _HELD, ReasonCode.LOOP, thread)
    return AcceptedDelivery(one.number, _PENDING, None, thread)


def _thread(conn: sqlite3.Connection, new: NewJob, one: NewDelivery, made: dict[int, int]) -> int:
    """The thread of a delivery: the one asked for, that of the conversation, or a new one."""
    job = new.job
    if job.thread_number is not None:
        return job.thread_number
    if one.thread_number not in made:
        found = None
        if job.conversation_id is not None:
            named = (job.mailbox_id, job.conversation_id, one.thread_key)
            found = conn.execute(FIND_THREAD, named).fetchone()
        if found is None:
            names = (one.thread_number, job.mailbox_id, job.conversation_id, one.thread_key)
            conn.execute(_THREAD, (*names, new.at, _metadata(new)))
        made[one.thread_number] = one.thread_number if found is None else found["number"]
    return made[one.thread_number]


def _row(new: NewJob, job: int, one: NewDelivery, made: AcceptedDelivery) -> tuple[object, ...]:
    is_over = made.state is _FAILED
    return (
        *(one.number, job, new.job.mailbox_id, new.job.lane, one.recipient, one.recipient_key),
        *(one.domain, made.state, made.reason_code, None if is_over else new.due_at),
        *(new.job.not_after, made.thread_number, one.message_id, one.head),
        *(bool(new.job.attachments), new.at),
        *(("accept", new.at) if is_over else (None, None)),
        *(one.envelope_from, condition_column(new.job.condition)),
        HoldReason.LOOP if made.state is _HELD else None,
    )


def _changes(new: NewJob, job: int, written: tuple[AcceptedDelivery, ...]) -> tuple[Change, ...]:
    mailbox_id, lane = new.job.mailbox_id, new.job.lane
    changes: list[Change] = []
    waiting = {one.number for one in written if one.state is _PENDING}
    domains = dict.fromkeys(one.domain for one in new.deliveries if one.number in waiting)
    changes += (RowsWaiting(mailbox_id, lane, new.due_at, domain) for domain in domains)
    if waiting:
        changes.append(StateMoved(mailbox_id, lane, None, _PENDING, None, len(waiting)))
    held = sum(one.state is _HELD for one in written)
    if held:
        changes.append(StateMoved(mailbox_id, lane, None, _HELD, ReasonCode.LOOP, held))
    failed = len(written) - len(waiting) - held
    if failed:
        reason = ReasonCode.RECIPIENT_SUPPRESSED
        changes += (StateMoved(mailbox_id, lane, None, _FAILED, reason, failed), JobChanged(job))
    return tuple(changes)


def _spool_files(new: NewJob) -> dict[str, int]:
    """Digest and size of each file in the spool that the body names, however often it does."""
    files = (part for part in new.body.segments if isinstance(part, FileSegment))
    return {part.sha256: part.size_bytes for part in files if part.path is None}


def _metadata(new: NewJob) -> str | None:
    return _json(dict(new.job.metadata)) if new.job.metadata else None


def _json(value: dict[str, object] | dict[str, str] | Iterable[str | None]) -> str:
    return msgspec.json.encode(value).decode()
