"""The outbox as the API sees it, in memory: jobs, deliveries, events and suppressions, and who did what."""

from collections import Counter
from dataclasses import dataclass, field, replace

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.record import (
    DeliveryRecord,
    EventRecord,
    JobRecord,
    MailboxRecord,
    Page,
    Retries,
    SuppressionRecord,
)
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
from support.records import NOW


S = DeliveryState
ANSWERS = {"job_id": "job_0000000000001", "delivery_id": "dlv_0000000000001"}
EVENT = EventRecord(7, "delivery.sent", "support", NOW, {"answers": ANSWERS})


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
