"""The daemon's parts as the API sees them, in memory: enough to ask every call and to see what it did."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

from postroom.core.body import Body
from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import Instant
from postroom.core.job import Job, Problem
from postroom.core.jobrequest import read_request
from postroom.core.mailbox import Lane, Mailbox
from postroom.core.record import (
    DeliveryRecord,
    EventRecord,
    JobRecord,
    MailboxRecord,
    Page,
    Retries,
    StagedRecord,
    SuppressionRecord,
)
from postroom.ports.accepting import (
    Accepted,
    AcceptedDelivery,
    AcceptResult,
    AlreadyReplied,
    LeaseLost,
    NewJob,
)
from postroom.ports.backups import Backup, BackupUnderWay
from postroom.ports.desk import (
    Actor,
    BulkResult,
    CancelAnswer,
    Cancelled,
    DeliveryFilter,
    Hold,
    JobFilter,
    Verdict,
    WrongState,
)
from postroom.ports.figures import Stats
from postroom.ports.loop import (
    BreakerView,
    CheckLine,
    CheckVerdict,
    Explanation,
    GateReport,
    GateVerdict,
    QueueView,
    Readiness,
    SlowedView,
)
from postroom.ports.reloading import Draining, NotReloaded, Reloaded
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
from postroom.ports.uploads import Upload, UploadTooLarge
from support.figures import stats_at
from support.records import NOW, delivery, job


S = DeliveryState
DAY = 86_400_000_000
KNOWN = Accepted(0, (), 0)


@dataclass
class FakeOutbox:
    """Jobs, deliveries, events and suppressions; remembers who did what."""

    jobs: dict[int, JobRecord] = field(default_factory=dict)
    events: tuple[EventRecord, ...] = ()
    span: tuple[str, int, int] = ("log-1", 0, 0)
    suppressed: dict[tuple[str, str], SuppressionRecord] = field(default_factory=dict)
    stored_mailboxes: dict[str, MailboxRecord] = field(default_factory=dict)
    did: list[tuple[object, ...]] = field(default_factory=list)
    fault: Exception | None = None

    def deliveries(self) -> list[DeliveryRecord]:
        return [one for found in self.jobs.values() for one in found.deliveries]

    async def find_job(self, number: int) -> JobRecord | None:
        if self.fault is not None:
            raise self.fault
        return self.jobs.get(number)

    async def find_jobs(self, by: JobFilter, cursor: int | None, limit: int) -> Page[JobRecord]:
        self.did.append(("find_jobs", by, cursor, limit))
        found = sorted(self.jobs.values(), key=lambda one: -one.number)
        found = [one for one in found if by.mailbox_id in {None, one.mailbox_id}]
        found = [one for one in found if cursor is None or one.number < cursor]
        more = len(found) > limit
        return Page(tuple(found[:limit]), found[limit - 1].number if more else None)

    async def find_delivery(self, number: int) -> DeliveryRecord | None:
        return next((one for one in self.deliveries() if one.number == number), None)

    async def find_deliveries(
        self, by: DeliveryFilter, cursor: int | None, limit: int
    ) -> Page[DeliveryRecord]:
        self.did.append(("find_deliveries", by, cursor, limit))
        found = [one for one in self.deliveries() if by.state in {None, one.state}]
        return Page(tuple(replace(one, history=()) for one in found[:limit]), None)

    async def find_holds(self) -> tuple[Hold, ...]:
        held = Counter(
            (one.mailbox_id, one.hold_reason) for one in self.deliveries() if one.hold_reason
        )
        return tuple(Hold(*key, count) for key, count in held.items())

    async def find_retries(self, mailbox_id: str) -> tuple[Retries, ...]:
        again = [one for one in self.deliveries() if one.state is S.RETRY_SCHEDULED]
        ours = [one for one in again if one.mailbox_id == mailbox_id]
        why = Counter((one.lane, one.reason_code) for one in ours)
        return tuple(Retries(mailbox_id, *key, count, NOW) for key, count in why.items())

    async def find_dead(
        self, since: Instant | None, cursor: int | None, limit: int
    ) -> Page[DeliveryRecord]:
        self.did.append(("find_dead", since, cursor, limit))
        dead = [one for one in self.deliveries() if one.state in {S.FAILED, S.UNCERTAIN}]
        return Page(tuple(dead[:limit]), None)

    async def find_events(self, after: int, limit: int) -> tuple[EventRecord, ...]:
        return tuple(one for one in self.events if one.seq > after)[:limit]

    async def event_span(self) -> tuple[str, int, int]:
        return self.span

    async def find_suppressions(
        self, mailbox_id: str | None, cursor: int | None, limit: int
    ) -> Page[SuppressionRecord]:
        return Page(tuple(self.suppressed.values())[:limit], None)

    async def find_mailboxes(self) -> tuple[MailboxRecord, ...]:
        return tuple(self.stored_mailboxes.values())

    async def cancel_job(
        self, number: int, actor: Actor, at: Instant
    ) -> tuple[Cancelled, ...] | None:
        self.did.append(("cancel_job", number, actor.by))
        found = self.jobs.get(number)
        if found is None:
            return None
        answers = {S.SENT: CancelAnswer.TOO_LATE, S.UNCERTAIN: CancelAnswer.UNCERTAIN}
        return tuple(
            Cancelled(one.number, one.recipient, answers.get(one.state, CancelAnswer.CANCELLED))
            for one in found.deliveries
        )

    async def cancel_deliveries(
        self, by: DeliveryFilter, actor: Actor, at: Instant, *, dry_run: bool, limit: int
    ) -> BulkResult:
        self.did.append(("cancel_deliveries", by, dry_run, limit))
        return BulkResult(2, 0 if dry_run else 2)

    async def reschedule_job(
        self, number: int, send_at: Instant, actor: Actor, at: Instant
    ) -> JobRecord | WrongState | None:
        self.did.append(("reschedule_job", number, send_at))
        found = self.jobs.get(number)
        if found is not None and any(one.state is S.SENT for one in found.deliveries):
            return WrongState(S.SENT, "It is sent already.")
        return found

    async def retry(
        self, number: int, actor: Actor, at: Instant
    ) -> DeliveryRecord | WrongState | None:
        return self._move(await self.find_delivery(number), S.FAILED, S.PENDING)

    async def retry_deliveries(
        self, by: DeliveryFilter, actor: Actor, at: Instant, *, dry_run: bool, limit: int
    ) -> BulkResult:
        self.did.append(("retry_deliveries", by, dry_run, limit))
        return BulkResult(3, 0 if dry_run else 3)

    async def release(
        self, number: int, actor: Actor, at: Instant
    ) -> DeliveryRecord | WrongState | None:
        return self._move(await self.find_delivery(number), S.HELD, S.PENDING)

    async def release_deliveries(
        self, by: DeliveryFilter, actor: Actor, at: Instant, *, dry_run: bool, limit: int
    ) -> BulkResult:
        self.did.append(("release_deliveries", by, dry_run, limit))
        return BulkResult(4, 0 if dry_run else 4)

    async def resolve(
        self, number: int, verdict: Verdict, actor: Actor, at: Instant
    ) -> DeliveryRecord | WrongState | None:
        after = {Verdict.SENT: S.SENT, Verdict.RESEND: S.PENDING, Verdict.FAILED: S.FAILED}
        return self._move(await self.find_delivery(number), S.UNCERTAIN, after[verdict])

    async def resolve_deliveries(
        self,
        by: DeliveryFilter,
        verdict: Verdict,
        actor: Actor,
        at: Instant,
        *,
        dry_run: bool,
        limit: int,
    ) -> BulkResult:
        self.did.append(("resolve_deliveries", by, verdict, dry_run, limit))
        return BulkResult(1, 0 if dry_run else 1)

    async def pause(self, mailbox_id: str, reason: str, actor: Actor, at: Instant) -> None:
        self.stored_mailboxes[mailbox_id] = MailboxRecord(mailbox_id, actor.by, reason, at, None)

    async def resume(self, mailbox_id: str, actor: Actor, at: Instant) -> None:
        self.stored_mailboxes[mailbox_id] = MailboxRecord(mailbox_id, None, None, None, None)

    async def resume_thread(self, number: int, actor: Actor, at: Instant) -> bool:
        self.did.append(("resume_thread", number, actor.by))
        return number == 3

    async def suppress(
        self, mailbox_id: str | None, address: str, reason: str, actor: Actor, at: Instant
    ) -> SuppressionRecord:
        record = SuppressionRecord(mailbox_id or "", address, reason, actor.by, at)
        self.suppressed[mailbox_id or "", address] = record
        return record

    async def unsuppress(self, mailbox_id: str | None, address: str) -> bool:
        return self.suppressed.pop((mailbox_id or "", address), None) is not None

    def _move(
        self, found: DeliveryRecord | None, before: S, after: S
    ) -> DeliveryRecord | WrongState | None:
        if found is None or found.state is before:
            return None if found is None else replace(found, state=after)
        return WrongState(found.state, f"Only a delivery that is {before} can be moved so.")


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


class FakeUploads:
    """A spool in memory."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[StagedRecord, bytes]] = {}
        self.broken: list[BaseException] = []
        self.spool: dict[str, bytes] = {}

    async def stage(
        self, upload: Upload, content: AsyncIterator[bytes]
    ) -> StagedRecord | UploadTooLarge:
        data = bytearray()
        try:
            async for piece in content:
                data += piece
                if upload.limit_bytes and len(data) > upload.limit_bytes:
                    return UploadTooLarge(upload.limit_bytes)
        except BaseException as fault:
            self.broken.append(fault)
            raise
        ref = encode_id(Kind.ATTACHMENT, len(self.files) + 1)
        record = StagedRecord(
            ref,
            hashlib.sha256(data).hexdigest(),
            len(data),
            upload.filename,
            upload.content_type,
            NOW,
        )
        self.files[ref] = (record, bytes(data))
        return record

    async def find_staged(self, ref: str) -> StagedRecord | None:
        found = self.files.get(ref)
        return None if found is None else found[0]

    async def open_staged(self, staged: StagedRecord) -> AsyncIterator[bytes] | None:
        return pieces(self.files[staged.ref][1])

    async def open_file(self, sha256: str) -> AsyncIterator[bytes] | None:
        return pieces(self.spool[sha256]) if sha256 in self.spool else None


async def pieces(content: bytes, size: int = 65536) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


@dataclass
class FakeLoop:
    """A loop that explains one gate and lets jobs settle when a test says so."""

    outbox: FakeOutbox
    settle: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    breakers: tuple[BreakerView, BreakerView] = (
        BreakerView("closed", None, None),
        BreakerView("closed", None, None),
    )
    slowed: tuple[SlowedView, ...] = ()
    queues: tuple[QueueView, ...] = ()

    async def explain(self, number: int) -> Explanation | None:
        found = await self.outbox.find_delivery(number)
        if found is None:
            return None
        later = Instant(NOW + DAY)
        return Explanation(
            found.state,
            (
                GateReport("hold", GateVerdict.PASSED, None, None, None),
                GateReport("daily_cap", GateVerdict.BLOCKED, "500", "500", later),
            ),
            later,
        )

    def find_queues(self) -> tuple[QueueView, ...]:
        return self.queues

    async def wait_settled(self, number: int, timeout_s: float) -> JobRecord | None:
        self.waiting.set()
        try:
            async with asyncio.timeout(timeout_s):
                await self.settle.wait()
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return await self.outbox.find_job(number)

    async def check(self, mailbox_id: str) -> tuple[CheckLine, ...]:
        return (
            CheckLine("dns", CheckVerdict.OK, "smtp.example.net has 1 address", ""),
            CheckLine("connect", CheckVerdict.FAILED, "refused", "Check host and port."),
        )

    def find_breakers(self, mailbox_id: str) -> tuple[BreakerView, BreakerView] | None:
        return self.breakers

    def find_slowed(self, mailbox_id: str) -> tuple[SlowedView, ...]:
        return self.slowed


class FakeSignals:
    """A daemon with one mailbox and some mail."""

    def __init__(self) -> None:
        self.ready = Readiness(is_ready=True, detail="")
        self.fault: Exception | None = None
        self.more_depth: dict[tuple[str, Lane, DeliveryState], int] = {}

    async def stats(self) -> Stats:
        found = stats_at(NOW)
        return replace(found, depth={**found.depth, **self.more_depth})

    async def metrics_text(self) -> str:
        if self.fault is not None:
            raise self.fault
        return "# TYPE postroom_queue_depth gauge\npostroom_queue_depth 2\n"

    async def readiness(self) -> Readiness:
        return self.ready


@dataclass
class FakeMessages:
    """The bytes of messages by delivery."""

    content: dict[int, bytes] = field(default_factory=dict)

    async def find_message(self, number: int) -> AsyncIterator[bytes] | None:
        found = self.content.get(number)
        return None if found is None else pieces(found)


SUPPORT = Mailbox("support", "support@example.com", "Support", "main")
ANSWERS = {"job_id": "job_0000000000001", "delivery_id": "dlv_0000000000001"}
EVENT = EventRecord(7, "delivery.sent", "support", NOW, {"answers": ANSWERS})


@dataclass
class FakeBackups:
    """Hands out these pieces; an exception among them is raised in its place."""

    content: list[bytes | Exception] = field(default_factory=lambda: [b"tar, ", b"the rest"])
    fault: Exception | None = None
    is_busy: bool = False
    closed: int = 0

    async def begin(self, uid: int) -> Backup | BackupUnderWay:
        if self.fault is not None:
            raise self.fault
        if self.is_busy:
            return BackupUnderWay()
        self.is_busy = True
        return Backup(4711, self._pieces(), self._close)

    async def _pieces(self) -> AsyncIterator[bytes]:
        for piece in self.content:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def _close(self) -> None:
        self.is_busy = False
        self.closed += 1


@dataclass
class FakeReloads:
    """Answers so, and remembers who asked for what."""

    answer: Reloaded | NotReloaded | Draining | Exception = field(
        default_factory=lambda: Reloaded((), (), (), 1)
    )
    asked: list[tuple[str, bool]] = field(default_factory=list)

    async def reload(self, by: str, *, is_dry_run: bool) -> Reloaded | NotReloaded | Draining:
        self.asked.append((by, is_dry_run))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class FakeTrust:
    """The clock is doubted until somebody confirms it, if it is."""

    is_odd: bool = False

    def is_doubted(self) -> bool:
        return self.is_odd

    def confirm(self) -> None:
        self.is_odd = False
