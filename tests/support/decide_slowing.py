"""A world in which attempts end as a test says, so that it slows down or speeds up."""

from postroom.core.instant import Moment
from postroom.core.outcome import Verdict
from postroom.core.reason import ReasonCode
from postroom.core.replytable import Class, Scope
from postroom.core.speed import SpeedMoved, speed_after
from postroom.core.world import Reservation, World
from support.decide_world import Waiting, moment


R = ReasonCode.DOMAIN_DEFERRED
PLAIN = Waiting()
OTHER = Waiting(domain="other.example")


def minutes(number: float) -> Moment:
    return moment(number * 60)


def throttled(scope: Scope = Scope.DOMAIN) -> Verdict:
    return Verdict(Class.TEMPORARY, scope, R, slows=scope)


def end(
    world: World,
    held: Reservation,
    verdict: Verdict | None,
    now: Moment,
    domain: str = PLAIN.domain,
) -> tuple[SpeedMoved, ...]:
    moved = speed_after(world, held, domain, verdict, now)
    world.release(held, reached_mail=True)
    return moved


def slow(world: World, starts: int = 20, now: Moment | None = None) -> None:
    """So many under way at once, and all of them throttled."""
    now = now or moment()
    for held in [world.reserve(PLAIN, now) for _ in range(starts)]:
        end(world, held, throttled(), now)


def succeed(world: World, count: int, now: Moment, row: Waiting = PLAIN) -> list[SpeedMoved]:
    found = []
    for _ in range(count):
        found += end(world, world.reserve(row, now), None, now, row.domain)
    return found
