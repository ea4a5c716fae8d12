"""The table of a job's fields (CONTRACT §3): a request as decoded from JSON becomes a Job, or all that is wrong with it.

Only what the request itself shows is judged here. What depends on a mailbox, on files or on the time of day is judged
later, because a retry of a known job must be recognised whatever has changed since. A null counts as not given.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from postroom.core.faults import (
    Faults,
    read_ascii,
    read_choice,
    read_moment,
    read_text,
)
from postroom.core.ids import Kind, decode_id
from postroom.core.instant import Instant
from postroom.core.job import (
    Address,
    Attachment,
    Copies,
    Job,
    OnDuplicate,
    Problem,
)
from postroom.core.jobparties import (
    default_copies,
    find_copies_fault,
    read_recipients,
    read_reply_to,
)
from postroom.core.jobparts import read_attachments, read_headers, read_metadata
from postroom.core.jobreply import is_in_thread, read_place
from postroom.core.mailbox import AutoSubmitted, Lane
from postroom.core.words import find_body_fault, pointer


SUBJECT_MOST: Final = 1_000
BODY_MOST_BYTES: Final = 512 * 1024
KEY_MOST: Final = 256
TRACE_MOST: Final = 128
# Names of the caller's or the operator's own; long enough for any, short enough for an index.
NAME_MOST: Final = 256

_COPIES: Final = {one.value: one for one in Copies}
_ON_DUPLICATE: Final = {one.value: one for one in OnDuplicate}
_AUTO_SUBMITTED: Final = {one.value: one for one in AutoSubmitted}
_LANES: Final = {one.word: one for one in Lane}


@dataclass(slots=True)
class _Draft:
    """What was understood so far."""

    faults: Faults = field(default_factory=Faults)
    mailbox_id: str = ""
    subject: str = ""
    text: str | None = None
    html: str | None = None
    copies: Copies | None = None
    attachments: tuple[Attachment, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    reply_to: tuple[Address, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    lane: Lane = Lane.STANDARD
    send_at: Instant | None = None
    not_after: Instant | None = None
    conversation_id: str | None = None
    thread_number: int | None = None
    trace_id: str | None = None
    idempotency_key: str | None = None
    on_duplicate: OnDuplicate = OnDuplicate.REPLAY
    auto_submitted: AutoSubmitted | None = None


def read_job(value: object, *, now: Instant) -> Job | tuple[Problem, ...]:
    """The job, or every problem that it has. A `send_at` that is past at `now` is as if it were not given."""
    draft = _Draft()
    if not isinstance(value, dict):
        return (Problem("", "A job is a JSON object."),)
    draft.faults.add_unknown(name for name in value if name not in _FIELDS)
    for name, read in _FIELDS.items():
        given = value.get(name)
        if given is not None:
            read(draft, given)
    job = _whole(draft, value, now)
    return draft.faults.all() or job


def _whole(draft: _Draft, given: dict[str, object], now: Instant) -> Job:
    """The job, after the rules that look at more than one field."""
    recipients, dropped = read_recipients(given, draft.faults)
    _check_needed(draft, given)
    place = read_place(given, draft.faults)
    in_thread = is_in_thread(given)
    copies = draft.copies or default_copies(
        draft.lane, draft.on_duplicate, len(recipients), is_in_thread=in_thread
    )
    fault = find_copies_fault(copies, draft.on_duplicate, len(recipients), is_in_thread=in_thread)
    if fault is not None:
        draft.faults.add("/copies", fault)
    if draft.not_after is not None and draft.not_after <= (draft.send_at or 0):
        draft.faults.add("/not_after", "This must be later than send_at.")
    return Job(
        mailbox_id=draft.mailbox_id,
        recipients=recipients,
        duplicates_dropped=dropped,
        subject=draft.subject,
        text=draft.text,
        html=draft.html,
        copies=copies,
        attachments=draft.attachments,
        headers=draft.headers,
        reply_to=draft.reply_to,
        metadata=draft.metadata,
        lane=draft.lane,
        send_at=draft.send_at if draft.send_at is not None and draft.send_at > now else None,
        not_after=draft.not_after,
        conversation_id=draft.conversation_id,
        thread_number=draft.thread_number,
        trace_id=draft.trace_id,
        idempotency_key=draft.idempotency_key,
        on_duplicate=draft.on_duplicate,
        auto_submitted=draft.auto_submitted,
        spec=given,
        condition=place.condition,
        answers=place.answers,
        lease=place.lease,
        allows_new_recipients=place.allows_new_recipients,
    )


def _check_needed(draft: _Draft, given: dict[str, object]) -> None:
    is_reply = given.get("in_reply_to_event") is not None
    for name in ("mailbox_id", "subject"):
        if given.get(name) is None and not is_reply:
            draft.faults.add(pointer(name), f"The field {name} is needed.")
    if given.get("text") is None and given.get("html") is None:
        draft.faults.add("/text", "The field text or html is needed.")
    if not is_reply and not any(given.get(name) for name in ("to", "cc", "bcc")):
        draft.faults.add("/to", "At least one recipient is needed, in to, cc or bcc.")


def _read_body(given: object, where: str, faults: Faults) -> str | None:
    """Text of any length up to the limit, with line ends."""
    if not isinstance(given, str):
        faults.add(where, "This must be a string.")
        return None
    fault = find_body_fault(given)
    if fault is not None:
        faults.add(where, f"The text {fault}.")
        return None
    if len(given.encode()) > BODY_MOST_BYTES:
        faults.add(
            where, f"This may have {BODY_MOST_BYTES:,} bytes in UTF-8; more can be an attachment."
        )
        return None
    return given


def _mailbox_id(draft: _Draft, given: object) -> None:
    draft.mailbox_id = read_text(given, "/mailbox_id", draft.faults, most=NAME_MOST) or ""


def _subject(draft: _Draft, given: object) -> None:
    subject = read_text(given, "/subject", draft.faults, most=SUBJECT_MOST, least=0)
    draft.subject = subject or ""


def _text(draft: _Draft, given: object) -> None:
    draft.text = _read_body(given, "/text", draft.faults)


def _html(draft: _Draft, given: object) -> None:
    draft.html = _read_body(given, "/html", draft.faults)


def _copies(draft: _Draft, given: object) -> None:
    draft.copies = read_choice(given, "/copies", draft.faults, _COPIES)


def _attachments(draft: _Draft, given: object) -> None:
    draft.attachments = read_attachments(given, draft.faults)


def _headers(draft: _Draft, given: object) -> None:
    draft.headers = read_headers(given, draft.faults)


def _reply_to(draft: _Draft, given: object) -> None:
    draft.reply_to = read_reply_to(given, draft.faults)


def _metadata(draft: _Draft, given: object) -> None:
    draft.metadata = read_metadata(given, draft.faults)


def _priority(draft: _Draft, given: object) -> None:
    lane = _LANES.get(given) if isinstance(given, str) else None
    if lane is None:
        draft.faults.add("/priority", f"This must be one of: {', '.join(_LANES)}.")
    else:
        draft.lane = lane


def _send_at(draft: _Draft, given: object) -> None:
    draft.send_at = read_moment(given, "/send_at", draft.faults)


def _not_after(draft: _Draft, given: object) -> None:
    draft.not_after = read_moment(given, "/not_after", draft.faults)


def _conversation_id(draft: _Draft, given: object) -> None:
    where = "/conversation_id"
    draft.conversation_id = read_text(given, where, draft.faults, most=NAME_MOST)


def _thread_id(draft: _Draft, given: object) -> None:
    draft.thread_number = decode_id(Kind.THREAD, given) if isinstance(given, str) else None
    if draft.thread_number is None:
        draft.faults.add("/thread_id", "This must be the id of a thread.")


def _trace_id(draft: _Draft, given: object) -> None:
    draft.trace_id = read_text(given, "/trace_id", draft.faults, most=TRACE_MOST)


def _idempotency_key(draft: _Draft, given: object) -> None:
    where = "/idempotency_key"
    draft.idempotency_key = read_ascii(given, where, draft.faults, most=KEY_MOST)


def _on_duplicate(draft: _Draft, given: object) -> None:
    where = "/on_duplicate"
    found = read_choice(given, where, draft.faults, _ON_DUPLICATE)
    draft.on_duplicate = found or OnDuplicate.REPLAY


def _auto_submitted(draft: _Draft, given: object) -> None:
    where = "/auto_submitted"
    draft.auto_submitted = read_choice(given, where, draft.faults, _AUTO_SUBMITTED)


def _together(draft: _Draft, given: object) -> None:
    """Read with others in one go, by `read_recipients` or `read_place`."""


_FIELDS: Final[dict[str, Callable[[_Draft, object], None]]] = {
    "mailbox_id": _mailbox_id,
    "to": _together,
    "cc": _together,
    "bcc": _together,
    "subject": _subject,
    "text": _text,
    "html": _html,
    "copies": _copies,
    "attachments": _attachments,
    "headers": _headers,
    "reply_to": _reply_to,
    "metadata": _metadata,
    "priority": _priority,
    "send_at": _send_at,
    "not_after": _not_after,
    "conversation_id": _conversation_id,
    "thread_id": _thread_id,
    "trace_id": _trace_id,
    "idempotency_key": _idempotency_key,
    "on_duplicate": _on_duplicate,
    "auto_submitted": _auto_submitted,
    "if": _together,
    "in_reply_to_event": _together,
    "lease": _together,
    "allow_new_recipients": _together,
}
