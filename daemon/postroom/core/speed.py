"""What the end of an attempt does to the speed of its relay and of its recipient's domain (core.slowing)."""

from dataclasses import dataclass
from typing import Final

from postroom.core.instant import Moment
from postroom.core.mailbox import DomainPace, Pace
from postroom.core.outcome import Verdict
from postroom.core.replytable import Scope
from postroom.core.slowing import Slowing, Stream
from postroom.core.world import SLOWED, Reservation, World


_MINUTE_S: Final = 60


@dataclass(frozen=True, slots=True)
class SpeedMoved:
    """A relay, or a domain of it, slowed down, sped up a little, or goes on as before (`after` None)."""

    relay_id: str
    domain: str | None
    before: Slowing | None
    after: Slowing | None

    @property
    def is_throttled(self) -> bool:
        """Whether it goes slower than before."""
        return self.after is not None and (
            self.before is None or self.after.share < self.before.share
        )


def speed_after(
    world: World, held: Reservation, domain: str, verdict: Verdict | None, now: Moment
) -> tuple[SpeedMoved, ...]:
    """What moved with an attempt that ended so; the streams of the world have moved with it."""
    relay = world.relay
    streams = ((None, relay.total), (domain, held.stream))
    if verdict is None:
        found = [_eased(world, name, stream, held, now) for name, stream in streams]
        return tuple(moved for moved in found if moved is not None)
    if verdict.slows is None:
        return ()
    name, stream = streams[verdict.slows is Scope.DOMAIN]
    before = stream.slowing
    if not stream.throttle(verdict.reason, _usual(world, name), held.mono, now):
        return ()
    return (SpeedMoved(relay.relay.id, name, before, stream.slowing), *_over_the_bound(world))


def _eased(
    world: World, name: str | None, stream: Stream, held: Reservation, now: Moment
) -> SpeedMoved | None:
    before = stream.slowing
    if not stream.succeed(held.mono, now.mono):
        return None
    return SpeedMoved(world.relay.relay.id, name, before, stream.slowing)


def _over_the_bound(world: World) -> tuple[SpeedMoved, ...]:
    """Whoever complained longest ago goes on as before, where too many are slowed down."""
    slow = [(one.told_mono, name) for name, one in world.relay.streams.items() if one.slowing]
    over = sorted(slow)[: max(0, len(slow) - SLOWED)]
    found = []
    for _, name in over:
        stream = world.relay.streams[name]
        found.append(SpeedMoved(world.relay.relay.id, name, stream.slowing, None))
        stream.slowing = None
    return tuple(found)


def _usual(world: World, domain: str | None) -> float:
    """The starts a minute that the settings allow."""
    mailbox = world.mailbox.mailbox
    paces: list[Pace | DomainPace] = [world.relay.relay.pace, mailbox.pace]
    if domain is not None and domain in mailbox.domain_pace:
        paces.append(mailbox.domain_pace[domain])
    return min(_per_minute(pace) for pace in paces)


def _per_minute(pace: Pace | DomainPace) -> float:
    bounds = [float("inf")]
    if pace.per_second is not None:
        bounds.append(pace.per_second * _MINUTE_S)
    if isinstance(pace, Pace) and pace.per_minute is not None:
        bounds.append(pace.per_minute)
    return min(bounds)
