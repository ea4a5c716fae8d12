"""The gates: every rule that can hold a delivery back, each a pure function of a delivery, the world and the moment.

Order and names are the contract's (§4, explain). Who asks them is `core.admit`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final

from postroom.core.breaker import Breaker, is_due
from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant, Moment
from postroom.core.mailbox import Lane
from postroom.core.pace import Bound
from postroom.core.slowing import Stream
from postroom.core.world import Row, World


class Reach(StrEnum):
    """Whom else the same gate holds back: where it blocks one row, there is no need to ask for these."""

    ROW = "row"
    DOMAIN = "domain"
    LANE = "lane"
    MAILBOX = "mailbox"
    RELAY = "relay"
    HOST = "host"


class Unit(Enum):
    """What a gate's value and threshold are."""

    PLAIN = "plain"
    INSTANT = "instant"


Value = int | str | None


@dataclass(frozen=True, slots=True)
class Passed:
    """The gate lets it through."""

    value: Value = None
    threshold: Value = None


@dataclass(frozen=True, slots=True)
class Blocked:
    """The gate holds it back until an instant; None = until something happens (an end, a resume)."""

    value: Value
    threshold: Value
    until: Instant | None


Check = Callable[[Row, World, Moment], Passed | Blocked]


@dataclass(frozen=True, slots=True)
class Gate:
    """One rule with its name."""

    name: str
    check: Check
    reach: Reach
    unit: Unit = Unit.PLAIN


_PASSED: Final = Passed()


def _send_time(row: Row, world: World, now: Moment) -> Passed | Blocked:
    if row.state is DeliveryState.RETRY_SCHEDULED or row.due_at <= now.at:
        return Passed(now.at, row.due_at)
    return Blocked(now.at, row.due_at, row.due_at)


def _hold(row: Row, world: World, now: Moment) -> Passed | Blocked:
    if row.state is DeliveryState.HELD:
        return Blocked("held", "not held", None)
    if world.mailbox.paused_by is not None:
        return Blocked(f"mailbox paused by {world.mailbox.paused_by}", "not paused", None)
    return _PASSED


def _mailbox_pace(row: Row, world: World, now: Moment) -> Passed | Blocked:
    mailbox = world.mailbox
    return _bounded(mailbox.meter.pace(row.lane, mailbox.mailbox.lanes, now.mono), now)


def _relay_pace(row: Row, world: World, now: Moment) -> Passed | Blocked:
    shares = world.mailbox.mailbox.lanes
    return _bounded(world.relay.meter.pace(row.lane, shares, now.mono), now)


def _daily_cap(row: Row, world: World, now: Moment) -> Passed | Blocked:
    mailbox = world.mailbox
    return _bounded(mailbox.meter.cap(row.lane, mailbox.mailbox.lanes, now.mono), now)


def _relay_daily_cap(row: Row, world: World, now: Moment) -> Passed | Blocked:
    shares = world.mailbox.mailbox.lanes
    return _bounded(world.relay.meter.cap(row.lane, shares, now.mono), now)


def _domain_pause(row: Row, world: World, now: Moment) -> Passed | Blocked:
    domain = world.mailbox.domains.get(row.domain)
    until = None if domain is None else domain.paused_until
    if until is None or until <= now.at:
        return Passed(now.at, until)
    return Blocked(now.at, until, until)


def _domain_pace(row: Row, world: World, now: Moment) -> Passed | Blocked:
    domain = world.mailbox.domains.get(row.domain)
    if domain is None:
        return _PASSED
    most = domain.pace.concurrency
    if most is not None and domain.in_flight >= most:
        return Blocked(domain.in_flight, most, None)
    return _bounded(None if domain.second is None else domain.second.bound(now.mono), now)


def _relay_slowed(row: Row, world: World, now: Moment) -> Passed | Blocked:
    return _slowed(world.relay.total, now)


def _domain_slowed(row: Row, world: World, now: Moment) -> Passed | Blocked:
    stream = world.relay.streams.get(row.domain)
    return _PASSED if stream is None else _slowed(stream, now)


def _slowed(stream: Stream, now: Moment) -> Passed | Blocked:
    slowing = stream.slowed(now.mono)
    if slowing is None:
        return _PASSED
    value = f"{slowing.rate:.3g} a minute, {slowing.most} at once: {slowing.reason}"
    threshold = f"{slowing.per_minute} a minute, {slowing.at_once} at once"
    if stream.in_flight >= slowing.most:
        return Blocked(value, threshold, None)
    from_mono = stream.room_from(slowing)
    if from_mono <= now.mono:
        return Passed(value, threshold)
    return Blocked(value, threshold, now.when(from_mono))


def _mailbox_breaker(row: Row, world: World, now: Moment) -> Passed | Blocked:
    mailbox = world.mailbox
    return _probe(mailbox.breaker, now, is_probing=mailbox.probing)


def _relay_breaker(row: Row, world: World, now: Moment) -> Passed | Blocked:
    return _probe(world.relay.breaker, now, is_probing=world.relay.probing)


def _probe(breaker: Breaker, now: Moment, *, is_probing: bool) -> Passed | Blocked:
    state = breaker.state.value if breaker.reason is None else f"{breaker.state}: {breaker.reason}"
    if not is_due(breaker, now.at):
        # closed, it waits a moment after each fault, so that a blip is not an outage
        faults = f", faults in a row: {breaker.faults_in_row}" if breaker.is_closed else ""
        return Blocked(state + faults, "closed", breaker.probe_at)
    if not breaker.is_closed and is_probing:
        return Blocked(f"{state}, a probe is under way", "closed", None)
    return Passed(state, "closed")


def _backoff(row: Row, world: World, now: Moment) -> Passed | Blocked:
    if row.state is not DeliveryState.RETRY_SCHEDULED:
        return _PASSED
    if row.due_at <= now.at:
        return Passed(now.at, row.due_at)
    return Blocked(now.at, row.due_at, row.due_at)


def _lane_share(row: Row, world: World, now: Moment) -> Passed | Blocked:
    bulk = world.mailbox.bulk
    if row.lane is not Lane.BULK or bulk is None:
        return _PASSED
    return _bounded(bulk.bound(now.mono), now)


def _mailbox_bulk(row: Row, world: World, now: Moment) -> Passed | Blocked:
    state = world.mailbox
    return _leave_one(world, row.lane is Lane.BULK, state.bulk_in_flight, state.bulk_in_slots)


def _relay_bulk(row: Row, world: World, now: Moment) -> Passed | Blocked:
    relay = world.relay
    return _all_but_one(row.lane is Lane.BULK, relay.bulk_in_flight, relay.relay.concurrency)


def _mailbox_heavy(row: Row, world: World, now: Moment) -> Passed | Blocked:
    state = world.mailbox
    return _leave_one(world, row.has_attachments, state.heavy_in_flight, state.heavy_in_slots)


def _relay_heavy(row: Row, world: World, now: Moment) -> Passed | Blocked:
    relay = world.relay
    return _all_but_one(row.has_attachments, relay.heavy_in_flight, relay.relay.concurrency)


def _leave_one(world: World, is_meant: bool, in_flight: int, in_slots: int) -> Passed | Blocked:  # noqa: FBT001
    of_slots = _all_but_one(is_meant, in_slots, world.host.mailbox_share)
    if isinstance(of_slots, Blocked):
        return of_slots
    return _all_but_one(is_meant, in_flight, world.mailbox.mailbox.concurrency)


def _all_but_one(is_meant: bool, used: int, most: int) -> Passed | Blocked:  # noqa: FBT001
    """One connection or slot is always left to others, where there is more than one."""
    return _below(used, most - 1) if is_meant and most > 1 else _PASSED


def _mailbox_connections(row: Row, world: World, now: Moment) -> Passed | Blocked:
    return _below(world.mailbox.in_flight, world.mailbox.mailbox.concurrency)


def _relay_connections(row: Row, world: World, now: Moment) -> Passed | Blocked:
    return _below(world.relay.in_flight, world.relay.relay.concurrency)


def _mailbox_slots(row: Row, world: World, now: Moment) -> Passed | Blocked:
    is_open = not (world.mailbox.breaker.is_closed and world.relay.breaker.is_closed)
    return _below(world.mailbox.in_slots, 1 if is_open else world.host.mailbox_share)


def _attachment_slots(row: Row, world: World, now: Moment) -> Passed | Blocked:
    if not row.has_attachments:
        return _PASSED
    return _below(world.host.with_attachments, world.host.half)


def _suspect_slots(row: Row, world: World, now: Moment) -> Passed | Blocked:
    return _below(world.host.suspects, 1) if row.is_suspect else _PASSED


def _slots(row: Row, world: World, now: Moment) -> Passed | Blocked:
    return _below(world.host.in_slots, world.host.slots)


def _slow_slots(row: Row, world: World, now: Moment) -> Passed | Blocked:
    return _below(world.host.slow, world.host.slots)


def _drain(row: Row, world: World, now: Moment) -> Passed | Blocked:
    return Blocked("draining", "running", None) if world.host.is_draining else _PASSED


def _precondition(row: Row, world: World, now: Moment) -> Passed | Blocked:
    if row.not_after is None or now.at <= row.not_after:
        return Passed(now.at, row.not_after)
    return Blocked(now.at, row.not_after, None)


def _below(used: int, most: int) -> Passed | Blocked:
    return Passed(used, most) if used < most else Blocked(used, most, None)


def _bounded(bound: Bound | None, now: Moment) -> Passed | Blocked:
    if bound is None:
        return _PASSED
    if bound.from_mono <= now.mono:
        return Passed(bound.used, bound.allowed)
    return Blocked(bound.used, bound.allowed, now.when(bound.from_mono))


GATES: Final = (
    Gate("send_time", _send_time, Reach.LANE, Unit.INSTANT),
    Gate("hold", _hold, Reach.MAILBOX),
    Gate("mailbox_pace", _mailbox_pace, Reach.LANE),
    Gate("relay_pace", _relay_pace, Reach.LANE),
    Gate("relay_slowed", _relay_slowed, Reach.RELAY),
    Gate("daily_cap", _daily_cap, Reach.LANE),
    Gate("relay_daily_cap", _relay_daily_cap, Reach.LANE),
    Gate("domain_pause", _domain_pause, Reach.DOMAIN, Unit.INSTANT),
    Gate("domain_pace", _domain_pace, Reach.DOMAIN),
    Gate("domain_slowed", _domain_slowed, Reach.DOMAIN),
    Gate("mailbox_breaker", _mailbox_breaker, Reach.MAILBOX),
    Gate("relay_breaker", _relay_breaker, Reach.RELAY),
    Gate("backoff", _backoff, Reach.LANE, Unit.INSTANT),
    Gate("lane_share", _lane_share, Reach.LANE),
    Gate("mailbox_bulk_share", _mailbox_bulk, Reach.LANE),
    Gate("relay_bulk_share", _relay_bulk, Reach.LANE),
    Gate("mailbox_attachment_share", _mailbox_heavy, Reach.ROW),
    Gate("relay_attachment_share", _relay_heavy, Reach.ROW),
    Gate("mailbox_connections", _mailbox_connections, Reach.MAILBOX),
    Gate("relay_connections", _relay_connections, Reach.RELAY),
    Gate("mailbox_slots", _mailbox_slots, Reach.MAILBOX),
    Gate("attachment_slots", _attachment_slots, Reach.ROW),
    Gate("suspect_slots", _suspect_slots, Reach.ROW),
    Gate("slots", _slots, Reach.HOST),
    Gate("slow_slots", _slow_slots, Reach.HOST),
    Gate("drain", _drain, Reach.HOST),
    Gate("precondition", _precondition, Reach.ROW, Unit.INSTANT),
)
