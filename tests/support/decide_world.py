"""A small world for decisions: one relay, one mailbox, rows, moments."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from postroom.core.breaker import Breaker
from postroom.core.changeover import mailbox_state, relay_state
from postroom.core.delivery import DeliveryState
from postroom.core.instant import MINUTE, SECOND, Instant, Moment
from postroom.core.mailbox import DomainPace, Lane, LaneShares, Mailbox, Pace, Relay, Tls
from postroom.core.pace import Meter
from postroom.core.world import Host, World


NOON = Instant(1_790_000_000 * SECOND // MINUTE * MINUTE)


_FREE = Pace()
_SHARES = LaneShares()


def moment(seconds: float = 0) -> Moment:
    passed = round(seconds * SECOND)
    return Moment(Instant(NOON + passed), 5_000 * SECOND + passed)


def at(seconds: float = 0) -> Instant:
    return moment(seconds).at


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


@dataclass(frozen=True)
class Waiting:
    number: int = 1
    lane: Lane = Lane.STANDARD
    domain: str = "example.com"
    due_at: Instant = NOON
    state: DeliveryState = DeliveryState.PENDING
    not_after: Instant | None = None
    has_attachments: bool = False
    is_suspect: bool = False


def a_world(
    *,
    pace: Pace = _FREE,
    relay_pace: Pace = _FREE,
    concurrency: int = 4,
    relay_concurrency: int = 10,
    slots: int = 200,
    lanes: LaneShares = _SHARES,
    domain_pace: Mapping[str, DomainPace] | None = None,
) -> World:
    relay = Relay("main", "127.0.0.1", 25, Tls.NONE, pace=relay_pace, concurrency=relay_concurrency)
    mailbox = Mailbox(
        "support",
        "support@example.com",
        "",
        "main",
        pace=pace,
        concurrency=concurrency,
        lanes=lanes,
        domain_pace=domain_pace or {},
    )
    return World(Host(slots), relay_state(relay), mailbox_state(mailbox))


def wait_of(breaker: Breaker, since: float = 0) -> float:
    assert breaker.probe_at is not None
    return (breaker.probe_at - at(since)) / SECOND


def starts(found: Meter, lane: Lane, tries: list[int], shares: LaneShares = _SHARES) -> list[int]:
    """Try at each moment; the moments at which it started."""
    taken = []
    for mono in sorted(tries):
        bounds = [found.pace(lane, shares, mono), found.cap(lane, shares, mono)]
        if all(bound is None or bound.from_mono <= mono for bound in bounds):
            found.take(lane, mono)
            taken.append(mono)
    return taken
