"""What to tell the caller: the store's word about a job, or what is wrong with it, as the values of `ports.submitting`."""

from collections.abc import Sequence
from typing import Final

from postroom.core.job import OnDuplicate, Problem
from postroom.outbound.known import key_reused
from postroom.ports.accepting import (
    Accepted,
    AcceptResult,
    AlreadyReplied,
    JobExpired,
    KeyReused,
    LeaseLost,
    NewJob,
    Replayed,
    StagedGone,
    UnknownThread,
)
from postroom.ports.submitting import (
    Merged,
    RefusalCode,
    RefusalKind,
    Refused,
    Repeated,
    SubmitResult,
    Submitted,
    SubmittedDelivery,
)


# Twice a file was gone between staging and commit: the caller's next try will find it anew.
STAGING_LOST: Final = Refused(
    RefusalKind.NOT_NOW,
    RefusalCode.STORE_UNAVAILABLE,
    "A file of this job was removed while it was being accepted.",
    retry_after_s=1,
)

LEASE_LOST: Final = Refused(
    RefusalKind.CONFLICT,
    RefusalCode.LEASE_LOST,
    "An agent holds the conversation, and the job carries no lease that is live.",
)

UNKNOWN_THREAD: Final = Problem(
    "/thread_id", "This mailbox has no such thread.", RefusalCode.UNKNOWN_THREAD
)

UNKNOWN_SINCE: Final = Problem("/if/no_inbound_since", "There is no such event.")

_OF_PROBLEMS: Final = {code.value: code for code in RefusalCode}


def refuse(problems: Sequence[Problem]) -> Refused:
    """All that is wrong. The code is the problems' own where they have one in common.

    An unknown field is named before all: who sends it takes us for another version, and the rest may follow from that.
    """
    codes = {one.code for one in problems}
    if RefusalCode.UNKNOWN_FIELD in codes:
        codes = {RefusalCode.UNKNOWN_FIELD}
    common = codes.pop() if len(codes) == 1 else None
    code = _OF_PROBLEMS.get(common or "", RefusalCode.INVALID_JOB)
    rest = "" if len(problems) == 1 else f" And {len(problems) - 1} more."
    detail = f"{problems[0].pointer or 'The body'}: {problems[0].detail}{rest}"
    return Refused(RefusalKind.WRONG, code, detail, tuple(problems))


def answer(new: NewJob, result: AcceptResult) -> SubmitResult:
    """What the store made of a new job."""
    dropped = new.job.duplicates_dropped
    match result:
        case Accepted(number) if number == new.number:
            return _submitted(new, result)
        case Accepted(number, deliveries, already):
            return Repeated(number, False, dropped, Merged(len(deliveries), already))  # noqa: FBT003 - positional as in match
        case Replayed():
            return _repeated(new, result)
        case KeyReused(number):
            return key_reused(number)
        case _:
            return _stopped(result)


def _repeated(new: NewJob, result: Replayed) -> Repeated:
    is_merge = new.job.on_duplicate is OnDuplicate.MERGE
    merged = Merged(0, len(new.deliveries)) if is_merge else None
    return Repeated(result.number, result.is_expired, new.job.duplicates_dropped, merged)


def _stopped(
    result: JobExpired | AlreadyReplied | LeaseLost | StagedGone | UnknownThread,
) -> Refused:
    match result:
        case JobExpired(number):
            return Refused(
                RefusalKind.WRONG,
                RefusalCode.JOB_EXPIRED,
                "The job of this key was removed after its retention time: it takes no more recipients.",
                job_number=number,
            )
        case AlreadyReplied():
            return Refused(
                RefusalKind.CONFLICT,
                RefusalCode.ALREADY_REPLIED,
                "This event was answered before.",
                job_number=result.job_number,
            )
        case LeaseLost():
            return LEASE_LOST
        case StagedGone():
            return STAGING_LOST
        case UnknownThread():
            return refuse((UNKNOWN_THREAD,))


def _submitted(new: NewJob, result: Accepted) -> Submitted:
    made = {one.number: one for one in new.deliveries}
    return Submitted(
        number=new.number,
        job=new.job,
        idempotency_key=new.idempotency_key,
        trace_id=new.trace_id,
        created_at=new.at,
        due_at=new.due_at,
        deliveries=tuple(
            SubmittedDelivery(one, made[one.number].recipient, made[one.number].message_id)
            for one in result.deliveries
        ),
        is_merge=new.job.on_duplicate is OnDuplicate.MERGE,
        is_reply_to_ignored=new.is_reply_to_ignored,
    )
