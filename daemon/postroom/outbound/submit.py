"""Taking a job (CONTRACT §3): read it, look its key up, check what is new, give it an identity and bytes, store it.

The order is the contract's: syntax first, all of it at once; then the key, before everything that may have changed
since a first try; then mailbox, recipients, limits and files. At the commit of `Intake.accept` the job is ours. What
the store says in that transaction counts, whatever was seen before: twins meet there.
A light job goes straight into that transaction, which looks the key up as well; it is looked up before only where
anything was found to refuse, or the store says no (decision 0035).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from postroom.core.body import Body
from postroom.core.fingerprint import key_hash
from postroom.core.job import Job, OnDuplicate
from postroom.core.jobparties import takes_long
from postroom.core.jobrequest import check_recipients, read_request
from postroom.core.mailbox import Mailbox
from postroom.core.replying import Answered
from postroom.outbound.answers import STAGING_LOST, answer, refuse
from postroom.outbound.assemble import (
    SPOOL_OVER_BYTES,
    Caller,
    Order,
    Signing,
    identify,
    make_body,
    make_job,
)
from postroom.outbound.gather import Gathered, gather
from postroom.outbound.known import Additions, FindJob, compare
from postroom.outbound.objections import Objections, unknown_mailbox
from postroom.outbound.replying import NO_THREAD, Conversations, Filled, unknown_event
from postroom.outbound.room import Room
from postroom.ports.accepting import Accepted, AcceptResult, NewJob
from postroom.ports.errors import StorageFull, StoreUnavailable
from postroom.ports.host import Clock, Entropy
from postroom.ports.outbox import Intake
from postroom.ports.staging import Staging
from postroom.ports.submitting import Prepared, Refused, Repeated, SubmitResult


# In whatever encoding, text of so many characters lies in the row (see SPOOL_OVER_BYTES).
_LIGHT: Final = SPOOL_OVER_BYTES // 8
_TRIES: Final = 2  # the second where retention took a file between gathering and commit


@dataclass(frozen=True, slots=True)
class SubmitParts:
    """What taking jobs needs. `depth` is how many deliveries of a mailbox wait; `find_job` reads a job by number.

    `signing` makes the tokens of addresses that answers come back to; `domains` are the listener's. `reading` is where
    jobs are read that take long; None = the loop's own threads, which may all wait for a name server.
    """

    intake: Intake
    staging: Staging
    mailboxes: Mapping[str, Mailbox]
    clock: Clock
    entropy: Entropy
    depth: Callable[[str], int]
    find_job: FindJob
    signing: Signing | None = None
    domains: Sequence[str] = ()
    reading: Executor | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A job that was read, with the event that it answers."""

    job: Job
    caller: Caller
    event: Answered | None


class JobSubmitter:
    """Takes jobs; a `ports.submitting.Submitter`."""

    def __init__(self, parts: SubmitParts) -> None:
        self._parts = parts
        self._objections = Objections(parts.intake, parts.staging, parts.mailboxes)
        self._conversations = Conversations(parts.intake, parts.mailboxes, parts.domains)
        self.room = Room(parts.depth, parts.clock)

    def switch(self, signing: Signing | None, domains: Sequence[str]) -> None:
        """Sign so from now on, and know the addresses that are ours now."""
        self._parts = replace(self._parts, signing=signing, domains=domains)
        self._conversations.switch(self._parts.mailboxes, domains)

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
        for _ in range(_TRIES):
            asked = await self._read(value, principal_uid, header_key, trace_header)
            if isinstance(asked, Refused):
                return asked
            if _is_light(asked.job):
                return await self._submit_light(asked)
            made = await self._prepare(asked)
            result = await self._store(made) if isinstance(made, Prepared) else made
            if result is not STAGING_LOST:
                return result
        return STAGING_LOST

    async def prepare(
        self,
        value: object,
        principal_uid: int,
        header_key: str | None = None,
        trace_header: str | None = None,
    ) -> Prepared | Repeated | Refused:
        """The same up to the commit, for who stores it in a transaction with other things; then `settle` must follow.

        Raises: StoreUnavailable, StorageFull, StoreBroken: there is nothing to settle.
        """
        asked = await self._read(value, principal_uid, header_key, trace_header)
        return asked if isinstance(asked, Refused) else await self._prepare(asked)

    def settle(self, prepared: Prepared, result: AcceptResult) -> SubmitResult:
        """What the caller is told of what the store made of it."""
        accepted = len(result.deliveries) if isinstance(result, Accepted) else 0
        self.room.settle(prepared.reserved, accepted)
        return answer(prepared.new, result)

    def abandon(self, prepared: Prepared) -> None:
        """It was not stored."""
        self.room.settle(prepared.reserved, 0)

    async def _read(
        self, value: object, principal_uid: int, header_key: str | None, trace_header: str | None
    ) -> _Asked | Refused:
        """What is asked for, or everything that is wrong with it."""
        caller = Caller(principal_uid, self._parts.clock.now())
        read = partial(
            read_request, value, header_key=header_key, trace_header=trace_header, now=caller.at
        )
        if takes_long(value):
            loop = asyncio.get_running_loop()
            job = await loop.run_in_executor(self._parts.reading, read)
        else:
            job = read()
        if not isinstance(job, Job):
            return refuse((*job, *await self._objections.find_more(value, principal_uid)))
        event = await self._conversations.find_answered(job)
        if not job.mailbox_id:
            mailbox_id = await self._find_mailbox(job, event)
            if not mailbox_id:
                return refuse((unknown_event("") if mailbox_id is None else NO_THREAD,))
            job = replace(job, mailbox_id=mailbox_id)
        return _Asked(job, caller, event)

    async def _submit_light(self, asked: _Asked) -> SubmitResult:
        """Take it for new. What speaks against that counts only where its key is not known."""
        try:
            made = await self._take(asked)
            result = await self._store(made) if isinstance(made, Prepared) else made
        except (StoreUnavailable, StorageFull):
            known = await self._find_known(asked)
            if known is None:
                raise
            return known
        if not isinstance(result, Refused):
            return result
        return await self._find_known(asked) or result

    async def _find_known(self, asked: _Asked) -> Repeated | Refused | None:
        """What a light job is to the one that its key stands for; None where that is new."""
        found = await self._look_up(asked)
        return None if isinstance(found, Additions) else found

    async def _prepare(self, asked: _Asked) -> Prepared | Repeated | Refused:
        found = await self._look_up(asked)
        if found is None or isinstance(found, Additions):
            return await self._take(asked, found)
        return found

    async def _look_up(self, asked: _Asked) -> Repeated | Additions | Refused | None:
        """What the job is to the one that its key stands for; None where the key is new."""
        job = asked.job
        if job.idempotency_key is None:
            return None
        hashed = key_hash(job.idempotency_key)
        known = await self._parts.intake.find_key(job.mailbox_id, hashed)
        if known is None:
            return None
        return await compare(
            job,
            known,
            staging=self._parts.staging,
            mailbox=self._parts.mailboxes.get(job.mailbox_id),
            find_job=self._parts.find_job,
            reader_uid=asked.caller.principal_uid,
        )

    async def _store(self, made: Prepared) -> SubmitResult:
        try:
            # When this returns Accepted, it is committed: the job is ours.
            result = await self._parts.intake.accept(made.new)
        except BaseException:
            self.abandon(made)
            raise
        return self.settle(made, result)

    async def _take(self, asked: _Asked, additions: Additions | None = None) -> Prepared | Refused:
        """Check what is new, complete it from its conversation, and reserve room until it is stored."""
        job, caller, event = asked.job, asked.caller, asked.event
        mailbox = self._parts.mailboxes.get(job.mailbox_id)
        if mailbox is None:
            return refuse((unknown_mailbox(job.mailbox_id),))
        new_keys = None if additions is None else additions.keys
        problems = (
            *check_recipients(job.spec, mailbox, only=new_keys),
            *await self._objections.check_thread(mailbox, job.thread_number),
            *await self._objections.check_condition(job),
        )
        filled = self._conversations.fill(job, mailbox, event)
        if problems or not isinstance(filled, Filled):
            problems += () if isinstance(filled, Filled) else filled
            files = await self._objections.check_files(
                mailbox, job.attachments, caller.principal_uid
            )
            return refuse((*problems, *files))
        order = Order(
            filled.job,
            mailbox,
            self._parts.signing,
            await self._conversations.find_ancestries(filled.job, event),
            is_reply_to_ignored=filled.is_reply_to_ignored,
        )
        return await self._order(order, caller, additions)

    async def _order(
        self, order: Order, caller: Caller, additions: Additions | None
    ) -> Prepared | Refused:
        """Make it, with room reserved."""
        count = len(order.job.recipients) if additions is None else len(additions.keys)
        reserved = self.room.reserve(order.mailbox, count)
        if isinstance(reserved, Refused):
            return reserved
        made: NewJob | Refused | None = None
        try:
            made = await self._make(order, caller, is_known=additions is not None)
        finally:
            if not isinstance(made, NewJob):
                self.room.settle(reserved, 0)
        return Prepared(made, reserved) if isinstance(made, NewJob) else made

    async def _make(self, order: Order, caller: Caller, *, is_known: bool) -> NewJob | Refused:
        """A job that is known already has its content: new recipients get that, so nothing is gathered for them."""
        parts, job, mailbox = self._parts, order.job, order.mailbox
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
        return make_job(order, gathered, body, caller, identity)

    async def _find_mailbox(self, job: Job, event: Answered | None) -> str | None:
        """The mailbox of an answer that names none: that of its event, or, after retention, that which has its key."""
        if event is not None or job.idempotency_key is None:
            return None if event is None else event.mailbox_id
        hashed = key_hash(job.idempotency_key)
        for mailbox_id in self._parts.mailboxes:
            if await self._parts.intake.find_key(mailbox_id, hashed) is not None:
                return mailbox_id
        return None


def _is_light(job: Job) -> bool:
    """Whether to make it leaves nothing behind, should its key be known."""
    size = len(job.text or "") + len(job.html or "")
    is_merge = job.on_duplicate is OnDuplicate.MERGE
    return not job.attachments and not is_merge and size <= _LIGHT
