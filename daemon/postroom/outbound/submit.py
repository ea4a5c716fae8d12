"""Taking a job (CONTRACT §3): read it, look its key up, check what is new, give it an identity and bytes, store it.

The order is the contract's: syntax first, all of it at once; then the key, before everything that may have changed
since a first try; then mailbox, recipients, limits and files. At the commit of `Intake.accept` the job is ours. What
the store says in that transaction counts, whatever was seen before: twins meet there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from postroom.core.body import Body
from postroom.core.fingerprint import key_hash
from postroom.core.job import Attachment, Job, Problem
from postroom.core.jobrequest import check_recipients, read_references, read_request
from postroom.core.mailbox import Mailbox
from postroom.core.words import shown
from postroom.outbound.answers import STAGING_LOST, UNKNOWN_THREAD, answer, refuse
from postroom.outbound.assemble import Caller, identify, make_body, make_job
from postroom.outbound.gather import Gathered, gather
from postroom.outbound.known import Additions, FindJob, compare
from postroom.outbound.room import Room
from postroom.ports.accepting import Accepted, AcceptResult, NewJob, StagedGone
from postroom.ports.host import Clock, Entropy
from postroom.ports.outbox import Intake
from postroom.ports.staging import Staging
from postroom.ports.submitting import RefusalCode, Refused, SubmitResult


@dataclass(frozen=True, slots=True)
class SubmitParts:
    """What taking jobs needs. `depth` is how many deliveries of a mailbox wait; `find_job` reads a job by number."""

    intake: Intake
    staging: Staging
    mailboxes: Mapping[str, Mailbox]
    clock: Clock
    entropy: Entropy
    depth: Callable[[str], int]
    find_job: FindJob


class JobSubmitter:
    """Takes jobs; a `ports.submitting.Submitter`."""

    def __init__(self, parts: SubmitParts) -> None:
        self._parts = parts
        self.room = Room(parts.depth, parts.clock)

    async def submit(
        self,
        value: object,
        principal_uid: int,
        header_key: str | None = None,
        trace_header: str | None = None,
    ) -> SubmitResult:
        """Take one job, as decoded from JSON; `header_key` is Idempotency-Key, `trace_header` is traceparent.

        Raises: StoreUnavailable, StorageFull, StoreBroken: nothing was accepted.
        """
        caller = Caller(principal_uid, self._parts.clock.now())
        job = read_request(value, header_key=header_key, trace_header=trace_header, now=caller.at)
        if not isinstance(job, Job):
            return refuse((*job, *await self._find_more(value, principal_uid)))
        if job.idempotency_key is None:
            return await self._take(job, caller, None)
        hashed = key_hash(job.idempotency_key)
        known = await self._parts.intake.find_key(job.mailbox_id, hashed)
        if known is None:
            return await self._take(job, caller, None)
        found = await compare(
            job,
            known,
            staging=self._parts.staging,
            mailbox=self._parts.mailboxes.get(job.mailbox_id),
            find_job=self._parts.find_job,
            reader_uid=principal_uid,
        )
        return await self._take(job, caller, found) if isinstance(found, Additions) else found

    async def _take(self, job: Job, caller: Caller, additions: Additions | None) -> SubmitResult:
        """Check what is new, with room reserved while it is stored."""
        mailbox = self._parts.mailboxes.get(job.mailbox_id)
        if mailbox is None:
            return refuse((_unknown_mailbox(job.mailbox_id),))
        new_keys = None if additions is None else additions.keys
        problems = (
            *check_recipients(job.spec, mailbox, only=new_keys),
            *await self._check_thread(mailbox, job.thread_number),
        )
        if problems:
            files = await self._check_files(mailbox, job.attachments, caller.principal_uid)
            return refuse((*problems, *files))
        count = len(job.recipients) if new_keys is None else len(new_keys)
        reserved = self.room.reserve(mailbox, count)
        if isinstance(reserved, Refused):
            return reserved
        accepted = 0
        try:
            made = await self._store(job, mailbox, caller, is_known=additions is not None)
            if isinstance(made, Refused):
                return made
            new, result = made
            accepted = len(result.deliveries) if isinstance(result, Accepted) else 0
        finally:
            self.room.settle(reserved, accepted)
        return STAGING_LOST if isinstance(result, StagedGone) else answer(new, result)

    async def _store(
        self, job: Job, mailbox: Mailbox, caller: Caller, *, is_known: bool
    ) -> tuple[NewJob, AcceptResult] | Refused:
        """Gather, compose, commit; once more where retention took a file in between."""
        made = await self._store_once(job, mailbox, caller, is_known=is_known)
        if not isinstance(made, Refused) and isinstance(made[1], StagedGone):
            return await self._store_once(job, mailbox, caller, is_known=is_known)
        return made

    async def _store_once(
        self, job: Job, mailbox: Mailbox, caller: Caller, *, is_known: bool
    ) -> tuple[NewJob, AcceptResult] | Refused:
        """A job that is known already has its content: new recipients get that, so nothing is gathered for them."""
        parts = self._parts
        gathered = (
            Gathered()
            if is_known
            else await gather(job.attachments, mailbox, parts.staging, caller.principal_uid)
        )
        if isinstance(gathered, Refused):
            return gathered
        if not isinstance(gathered, Gathered):
            return refuse(gathered)
        identity = identify(job, mailbox, parts.intake, parts.entropy)
        body = Body((), 0)
        if not is_known:
            body = await make_body(job, gathered, identity.number, parts.staging)
        new = make_job(job, mailbox, gathered, body, caller, identity)
        # When this returns Accepted, it is committed: the job is ours.
        return new, await parts.intake.accept(new)

    async def _find_more(self, value: object, reader_uid: int) -> tuple[Problem, ...]:
        """What mailbox, store and files say to a request of which only parts could be read."""
        if not isinstance(value, dict) or not isinstance(value.get("mailbox_id"), str):
            return ()
        mailbox = self._parts.mailboxes.get(value["mailbox_id"])
        if mailbox is None:
            return (_unknown_mailbox(value["mailbox_id"]),)
        thread, attachments = read_references(value)
        return (
            *check_recipients(value, mailbox),
            *await self._check_thread(mailbox, thread),
            *await self._check_files(mailbox, attachments, reader_uid),
        )

    async def _check_thread(self, mailbox: Mailbox, thread: int | None) -> tuple[Problem, ...]:
        if thread is None or await self._parts.intake.has_thread(mailbox.id, thread):
            return ()
        return (UNKNOWN_THREAD,)

    async def _check_files(
        self, mailbox: Mailbox, attachments: Sequence[Attachment], reader_uid: int
    ) -> tuple[Problem, ...]:
        """What is wrong with the files of a job that is refused anyhow."""
        found = await gather(attachments, mailbox, self._parts.staging, reader_uid)
        return found if isinstance(found, tuple) else ()


def _unknown_mailbox(mailbox_id: str) -> Problem:
    said = f"There is no mailbox {shown(mailbox_id)!r}."
    return Problem("/mailbox_id", said, RefusalCode.UNKNOWN_MAILBOX)
