"""The submitter as the API sees it, in memory: one key is one job."""

import asyncio
from dataclasses import dataclass, field

from postroom.core.body import Body
from postroom.core.delivery import DeliveryState
from postroom.core.job import Job, Problem
from postroom.core.jobrequest import read_request
from postroom.ports.accepting import (
    Accepted,
    AcceptedDelivery,
    AcceptResult,
    AlreadyReplied,
    LeaseLost,
    NewJob,
)
from postroom.ports.submitting import (
    Prepared,
    RefusalCode,
    RefusalKind,
    Refused,
    Repeated,
    Reserved,
    SubmitResult,
    Submitted,
    SubmittedDelivery,
)
from support.api_outbox import FakeOutbox
from support.records import NOW, delivery, job


S = DeliveryState
KNOWN = Accepted(0, (), 0)


@dataclass
class FakeSubmitter:
    """Accepts what is a job of the mailbox `support`; one key is one job. `gate` holds every job up."""

    outbox: FakeOutbox
    gate: asyncio.Event | None = None
    fault: Exception | None = None
    keys: dict[str, int] = field(default_factory=dict)
    seen: list[tuple[object, int, str | None, str | None]] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    open: list[int] = field(default_factory=list)

    async def submit(
        self,
        value: object,
        principal_uid: int,
        header_key: str | None = None,
        trace_header: str | None = None,
    ) -> SubmitResult:
        made = await self.prepare(value, principal_uid, header_key, trace_header)
        return self.settle(made, KNOWN) if isinstance(made, Prepared) else made

    async def prepare(
        self,
        value: object,
        principal_uid: int,
        header_key: str | None = None,
        trace_header: str | None = None,
    ) -> Prepared | Repeated | Refused:
        self.seen.append((value, principal_uid, header_key, trace_header))
        self.begun.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        asked = read_request(value, header_key=header_key, trace_header=trace_header, now=NOW)
        if not isinstance(asked, Job):
            return _refused(RefusalCode.INVALID_JOB, *asked)
        if asked.mailbox_id != "support":
            return _refused(RefusalCode.UNKNOWN_MAILBOX, Problem("/mailbox_id", "Nobody."))
        key = asked.idempotency_key
        if key in self.keys:
            return Repeated(self.keys[key], is_expired=False, duplicates_dropped=0)
        number = len(self.outbox.jobs) + len(self.open) + 1
        self.open.append(number)
        return Prepared(bare_job(asked, number), Reserved("support", 1, 0))

    def abandon(self, prepared: Prepared) -> None:
        self.open.remove(prepared.new.number)

    def settle(self, prepared: Prepared, result: AcceptResult) -> SubmitResult:
        self.open.remove(prepared.new.number)
        match result:
            case AlreadyReplied():
                return _conflict(RefusalCode.ALREADY_REPLIED, result.job_number)
            case LeaseLost():
                return _conflict(RefusalCode.LEASE_LOST, None)
            case _:
                return self.accept(prepared.new.job, prepared.new.number)

    def accept(self, asked: Job, number: int) -> SubmitResult:
        key = asked.idempotency_key
        if key is not None:
            self.keys[key] = number
        recipient = asked.recipients[0].address.address
        record = delivery(number, recipient=recipient)
        self.outbox.jobs[number] = job(number, record)
        return Submitted(
            number=number,
            job=asked,
            idempotency_key=key or "minted",
            trace_id="trace-1",
            created_at=NOW,
            due_at=NOW,
            deliveries=(
                SubmittedDelivery(
                    AcceptedDelivery(number, S.PENDING, None, number), recipient, record.message_id
                ),
            ),
            is_merge=False,
        )


def _conflict(code: RefusalCode, job_number: int | None) -> Refused:
    return Refused(RefusalKind.CONFLICT, code, "Somebody was first.", job_number=job_number)


def bare_job(asked: Job, number: int) -> NewJob:
    """A prepared job of which nothing counts but what was asked."""
    return NewJob(
        number=number,
        job=asked,
        principal_uid=1000,
        trace_id="trace-1",
        idempotency_key=asked.idempotency_key or "minted",
        key_hash=b"",
        is_key_minted=asked.idempotency_key is None,
        request_hash=b"",
        hash_version=1,
        attachment_digests=(),
        body=Body((), 0),
        serializer_version=1,
        deliveries=(),
        staged_refs=(),
        due_at=NOW,
        at=NOW,
        answers=asked.answers,
    )


def _refused(code: RefusalCode, *problems: Problem) -> Refused:
    return Refused(RefusalKind.WRONG, code, "The job has faults.", problems)
