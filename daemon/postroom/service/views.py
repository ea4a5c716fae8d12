"""The running loop as the API sees it: why something waits, what is done of itself, how fast a mailbox may go."""

from collections.abc import Callable, Mapping
from typing import Final

from postroom.core.admit import Finding
from postroom.core.breaker import Breaker
from postroom.core.condition import Standing
from postroom.core.delivery import SUSPECT_CRASHES, DeliveryState, HoldReason
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import Instant
from postroom.core.mailbox import Mailbox, Relay
from postroom.core.record import DeliveryRecord, JobRecord
from postroom.core.slowing import Slowing
from postroom.core.world import World
from postroom.ops.depth import Settled
from postroom.ops.host import find_host_name
from postroom.outbound.check import check_mailbox
from postroom.outbound.dispatch import Dispatcher
from postroom.outbound.line import Queue
from postroom.ports.desk import Reader
from postroom.ports.host import Clock
from postroom.ports.loop import (
    BreakerView,
    CheckLine,
    Explanation,
    GateReport,
    GateVerdict,
    QueueView,
    SlowedView,
)
from postroom.ports.looping import WaitingRow
from postroom.service.doubted import CLOCK_GATE, explain_doubt, waits_for_clock


_EXPLAINED: Final = frozenset(
    {DeliveryState.PENDING, DeliveryState.HELD, DeliveryState.RETRY_SCHEDULED}
)

# Of a mailbox that is not in the settings there is no world that gates could ask.
_NO_MAILBOX: Final = GateReport(
    "hold", GateVerdict.BLOCKED, "mailbox removed", "mailbox in the settings", None
)


class LoopView:
    """Implements ports.loop.Loop."""

    def __init__(
        self,
        reader: Reader,
        dispatcher: Dispatcher,
        settled: Settled,
        worlds: Mapping[str, World],
        clock: Clock,
        believed_at: Callable[[], Instant | None],
    ) -> None:
        self._reader = reader
        self._believed_at = believed_at
        self._dispatcher = dispatcher
        self._settled = settled
        self._worlds = worlds
        self._clock = clock

    async def explain(self, number: int) -> Explanation | None:
        """The gates of a delivery that waits or is held; of any other only its state."""
        delivery = await self._reader.find_delivery(number)
        if delivery is None:
            return None
        if delivery.state is DeliveryState.UNCERTAIN:
            told = explain_doubt(delivery, self._worlds.get(delivery.mailbox_id))
            return told or Explanation(delivery.state, (_NO_MAILBOX,), None)
        if delivery.state not in _EXPLAINED or delivery.due_at is None:
            return Explanation(delivery.state, (), None)
        findings = self._dispatcher.explain(_row(delivery, delivery.due_at))
        if not findings:
            return Explanation(delivery.state, (_NO_MAILBOX,), None)
        standing = await self._reader.find_standing(number)
        gates = tuple(_report(finding, standing, delivery) for finding in findings)
        if waits_for_clock(delivery, self._clock.now(), self._believed_at()):
            return Explanation(delivery.state, (CLOCK_GATE, *gates[1:]), None)
        waits = standing is not None and (not standing.is_true or standing.pending_since)
        earliest = None if waits else _earliest(findings, self._clock.now())
        return Explanation(delivery.state, gates, earliest)

    def find_queues(self) -> tuple[QueueView, ...]:
        """What the loop has in front of it."""
        is_doubted = self._believed_at() is not None
        return tuple(_queue(one, is_doubted=is_doubted) for one in self._dispatcher.queues())

    async def wait_settled(self, number: int, timeout_s: float) -> JobRecord | None:
        """The job once it is settled, or as it stands after `timeout_s`."""
        return await self._settled.wait(number, timeout_s)

    async def check(self, mailbox_id: str) -> tuple[CheckLine, ...]:
        """Try the way out of a mailbox, up to RSET."""
        world = self._worlds[mailbox_id]
        mailbox: Mailbox = world.mailbox.mailbox
        relay: Relay = world.relay.relay
        return await check_mailbox(relay, mailbox.address, find_host_name())

    def find_breakers(self, mailbox_id: str) -> tuple[BreakerView, BreakerView] | None:
        """The breaker of a mailbox, and that of its relay."""
        world = self._worlds.get(mailbox_id)
        if world is None:
            return None
        return _breaker(world.mailbox.breaker), _breaker(world.relay.breaker)

    def find_slowed(self, mailbox_id: str) -> tuple[SlowedView, ...]:
        """What is slowed down on the way out of a mailbox."""
        world = self._worlds.get(mailbox_id)
        if world is None:
            return ()
        mono = self._clock.monotonic()
        whole = world.relay.total.slowed(mono)
        domains = [_slowed(*one) for one in world.relay.slow_domains(mono).items()]
        domains.sort(key=lambda one: one.per_minute)
        return (*(() if whole is None else (_slowed(None, whole),)), *domains)


def _row(delivery: DeliveryRecord, due_at: Instant) -> WaitingRow:
    return WaitingRow(
        number=delivery.number,
        mailbox_id=delivery.mailbox_id,
        lane=delivery.lane,
        domain=delivery.domain,
        due_at=due_at,
        state=delivery.state,
        not_after=delivery.not_after,
        has_attachments=delivery.has_attachments,
        is_suspect=delivery.crashes >= SUSPECT_CRASHES,
    )


def _report(finding: Finding, standing: Standing | None, delivery: DeliveryRecord) -> GateReport:
    """One gate; what a job's `if` says stands in `precondition`, where its time is not over anyway.

    `hold` says why the delivery is held, and a loop also where it was found.
    """
    if finding.gate == "hold" and delivery.hold_reason is not None:
        thread = encode_id(Kind.THREAD, delivery.thread_number)
        where = f" in {thread}" if delivery.hold_reason is HoldReason.LOOP else ""
        value = f"held: {delivery.hold_reason}{where}"
        return GateReport(finding.gate, GateVerdict.BLOCKED, value, finding.threshold, None)
    if finding.gate == "precondition" and finding.is_passed and standing is not None:
        is_open = standing.is_true and standing.pending_since is None
        verdict = GateVerdict.PASSED if is_open else GateVerdict.BLOCKED
        return GateReport(finding.gate, verdict, standing.found, standing.wanted, None)
    return _gate(finding)


def _gate(finding: Finding) -> GateReport:
    return GateReport(
        name=finding.gate,
        verdict=GateVerdict.PASSED if finding.is_passed else GateVerdict.BLOCKED,
        value=finding.value,
        threshold=finding.threshold,
        until=finding.until,
    )


def _queue(queue: Queue, *, is_doubted: bool) -> QueueView:
    stop = None if queue.finding is None else _gate(queue.finding)
    if queue.first is None and queue.doubtful_at is not None and is_doubted:
        stop = CLOCK_GATE
    return QueueView(
        mailbox_id=queue.mailbox_id,
        lane=queue.lane,
        domain=queue.domain,
        first=None if queue.first is None else queue.first.number,
        stop=stop,
        read=queue.read,
        next_at=queue.next_at,
    )


def _earliest(findings: tuple[Finding, ...], now: Instant) -> Instant | None:
    """When all gates are open as far as they can say; None when one of them can not."""
    blocked = [finding.until for finding in findings if not finding.is_passed]
    known = [until for until in blocked if until is not None]
    if len(known) < len(blocked):
        return None
    return max(known, default=now)


def _slowed(domain: str | None, slowing: Slowing) -> SlowedView:
    return SlowedView(
        domain=domain,
        reason=slowing.reason,
        per_minute=round(slowing.rate, 1),
        at_once=slowing.most,
        was_per_minute=slowing.per_minute,
        was_at_once=slowing.at_once,
        since=slowing.since_at,
    )


def _breaker(breaker: Breaker) -> BreakerView:
    return BreakerView(breaker.state, breaker.reason, breaker.probe_at)
