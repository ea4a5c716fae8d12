"""A whole request to send a job: its body with the HTTP headers that say the same things, and what its mailbox says to it.

`Idempotency-Key` is `idempotency_key`, and a W3C `traceparent` (its 32 digits in the middle) is `trace_id`. A key that
is given both ways must be one key; a trace_id in the body wins, because tracing libraries add their header unasked.
"""

import re
from collections.abc import Sequence
from typing import Final

from postroom.core.addresslist import may_write_to
from postroom.core.faults import Faults
from postroom.core.ids import Kind, decode_id
from postroom.core.instant import Instant
from postroom.core.job import Attachment, Job, Problem
from postroom.core.jobfields import read_job
from postroom.core.jobparties import find_named
from postroom.core.jobparts import read_attachments
from postroom.core.mailbox import Mailbox


RECIPIENT_NOT_ALLOWED: Final = "recipient_not_allowed"

# W3C Trace Context §3.2.2; an invalid one is ignored, as its §3.2 asks.
_TRACEPARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}.*"
)


def read_request(
    value: object, *, header_key: str | None, trace_header: str | None, now: Instant
) -> Job | tuple[Problem, ...]:
    """The job, or every problem that body and headers have."""
    if not isinstance(value, dict):
        return read_job(value, now=now)
    given = dict(value)
    trace = find_trace(value, trace_header)
    if trace is not None:
        given["trace_id"] = trace
    is_torn = header_key is not None and given.get("idempotency_key") not in {None, header_key}
    if header_key is not None and not is_torn:
        given["idempotency_key"] = header_key
    job = read_job(given, now=now)
    if not is_torn:
        return job
    torn = Problem("/idempotency_key", "The header Idempotency-Key gives another key than the job.")
    return (torn,) if isinstance(job, Job) else (*job, torn)


def find_trace(value: dict[str, object], trace_header: str | None) -> object:
    """The trace that a request names, unchecked; None where it leaves that to us."""
    found = _TRACEPARENT.fullmatch(trace_header or "")
    named = value.get("trace_id")
    return found[1] if found is not None and named is None else named


def read_references(
    value: dict[str, object],
) -> tuple[int | None, tuple[Attachment, ...]]:
    """The thread and the attachments that a request names, as far as nothing is wrong with them in themselves."""
    given, faults = value.get("thread_id"), Faults()
    thread = decode_id(Kind.THREAD, given) if isinstance(given, str) else None
    attachments = value.get("attachments")
    found = () if attachments is None else read_attachments(attachments, faults)
    return thread, () if faults.all() else found


def check_recipients(
    spec: dict[str, object], mailbox: Mailbox, *, only: frozenset[str] | None = None
) -> tuple[Problem, ...]:
    """Every recipient in a request that this mailbox may not write to; of those with these keys, where they are given."""
    allow, deny = mailbox.recipients_allow, mailbox.recipients_deny
    if not allow and not deny:
        return ()
    return tuple(
        Problem(
            where,
            f"The mailbox {mailbox.id} may not write to {address.address}.",
            RECIPIENT_NOT_ALLOWED,
        )
        for where, address in find_named(spec)
        if (only is None or address.key in only)
        and not may_write_to(address, allow=allow, deny=deny)
    )


def check_sizes(sizes: Sequence[int], mailbox: Mailbox) -> tuple[Problem, ...]:
    """Whether attachments of these sizes, together, are more than the mailbox sends."""
    limit = mailbox.limits.attachment_bytes
    if not limit or sum(sizes) <= limit:
        return ()
    said = (
        f"The attachments come to {sum(sizes):,} bytes; the mailbox {mailbox.id} sends {limit:,}."
    )
    return (Problem("/attachments", said),)
