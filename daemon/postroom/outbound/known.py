"""What a job under a known key is: the same job again, more recipients for it, or another job (CONTRACT §3).

Asked before every check but syntax, so that an honest retry is answered whatever has changed since: settings, limits,
files. A key that was first used as a replay and comes back as a merge, or the other way round, is compared by the
same rules: the same content for the same recipients is the same job.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from postroom.core.fingerprint import (
    attachment_specs,
    other_spelling,
    request_hash,
    same_attachments,
)
from postroom.core.job import Job, OnDuplicate, PathAttachment, StagedAttachment
from postroom.core.mailbox import Mailbox
from postroom.core.record import JobRecord
from postroom.outbound.gather import SLOW
from postroom.ports.accepting import KnownKey
from postroom.ports.staging import FilesSlow, Staging
from postroom.ports.submitting import Merged, RefusalCode, RefusalKind, Refused, Repeated


FindJob = Callable[[int], Awaitable[JobRecord | None]]


@dataclass(frozen=True, slots=True)
class Additions:
    """The same content for recipients of which these (by address key) are not known to have it yet."""

    keys: frozenset[str]


def key_reused(number: int) -> Refused:
    """The key stands for another job."""
    return Refused(
        RefusalKind.WRONG,
        RefusalCode.IDEMPOTENCY_KEY_REUSE,
        "This idempotency_key was used before, for another job.",
        job_number=number,
    )


async def compare(
    job: Job,
    known: KnownKey,
    *,
    staging: Staging,
    mailbox: Mailbox | None,
    find_job: FindJob,
    reader_uid: int,
) -> Repeated | Additions | Refused:
    """What this job is to the one that the key stands for; `mailbox` is None where it is not configured any more."""
    spellings = [job] if mailbox is None else [job, other_spelling(job, mailbox.auto_submitted)]
    if known.request_hash in {request_hash(one, OnDuplicate.REPLAY) for one in spellings}:
        roots = mailbox.attachment_roots if mailbox else ()
        return await _compare_files(job, known, staging, roots, reader_uid)
    if known.request_hash not in {request_hash(one, OnDuplicate.MERGE) for one in spellings}:
        return key_reused(known.job_number)
    if known.is_expired and job.on_duplicate is OnDuplicate.REPLAY:
        return repeated(job, known)
    wanted = frozenset(one.address.key for one in job.recipients)
    had = await _find_keys(known, find_job)
    if job.on_duplicate is OnDuplicate.REPLAY:
        return repeated(job, known) if wanted == had else key_reused(known.job_number)
    return Additions(wanted - had) if wanted - had else repeated(job, known)


def repeated(job: Job, known: KnownKey) -> Repeated:
    """The answer to a job that adds nothing."""
    is_merge = job.on_duplicate is OnDuplicate.MERGE
    merged = Merged(queued=0, already=len(job.recipients)) if is_merge else None
    return Repeated(known.job_number, known.is_expired, job.duplicates_dropped, merged)


async def _compare_files(
    job: Job, known: KnownKey, staging: Staging, roots: tuple[str, ...], reader_uid: int
) -> Repeated | Refused:
    """By content where both can be read; a tombstone keeps no digests."""
    if not job.attachments or known.is_expired:
        return repeated(job, known)
    by_path = [one.source for one in job.attachments if isinstance(one.source, PathAttachment)]
    # No limit: a file that grew past it is another file, not one that can not be read.
    digests = await staging.digest_files(by_path, roots=roots, limit_bytes=0, reader_uid=reader_uid)
    if isinstance(digests, FilesSlow):
        return SLOW
    paths = iter(digests)
    current = [
        (
            given,
            await _find_digest(one.source.ref, staging)
            if isinstance(one.source, StagedAttachment)
            else next(paths),
        )
        for given, one in zip(attachment_specs(job), job.attachments, strict=True)
    ]
    same = same_attachments(known.attachments, current)
    return repeated(job, known) if same else key_reused(known.job_number)


async def _find_digest(ref: str, staging: Staging) -> str | None:
    """The digest of an upload; None where it is gone."""
    found = await staging.find_staged(ref)
    return None if found is None else found.sha256


async def _find_keys(known: KnownKey, find_job: FindJob) -> frozenset[str]:
    """The recipients of a stored job as address keys; none where only a tombstone is left."""
    found = None if known.is_expired else await find_job(known.job_number)
    return frozenset(one.recipient_key for one in found.deliveries) if found else frozenset()
