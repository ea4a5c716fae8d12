"""What the gates look at: who is under way, what was counted, who is paused; and the only code that counts it.

One `Host`, one `RelayState` for each relay, one `MailboxState` and one `World` for each mailbox. The dispatcher owns
them, changes them between decisions, and never awaits between a decision and `reserve`.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Protocol

from postroom.core.breaker import CLOSED, Breaker, BreakerState, mended, renewed
from postroom.core.delivery import DeliveryState
from postroom.core.instant import MINUTE, Instant, Moment, later
from postroom.core.mailbox import DomainPace, Lane, Mailbox, Relay
from postroom.core.pace import Gcra, Meter
from postroom.core.reason import ReasonCode
from postroom.core.slowing import Slowing, Stream


LONGEST_DOMAIN_PAUSE: Final = timedelta(hours=4)
STREAMS: Final = (
    1024  # domains that a relay knows the traffic of; beyond it the idlest is forgotten
)
# Paused or paced, of a mailbox; beyond it those whose pause is over are forgotten.
DOMAINS: Final = 1024
SLOWED: Final = (
    200  # domains that it slows down at once; beyond it whoever complained longest ago is not
)


class Row(Protocol):
    """A delivery as far as a decision needs it."""

    @property
    def number(self) -> int: ...
    @property
    def lane(self) -> Lane: ...
    @property
    def domain(self) -> str: ...
    @property
    def due_at(self) -> Instant: ...
    @property
    def state(self) -> DeliveryState: ...
    @property
    def not_after(self) -> Instant | None: ...
    @property
    def has_attachments(self) -> bool: ...
    @property
    def is_suspect(self) -> bool: ...


@dataclass(slots=True)
class Host:
    """The daemon: its slots, who holds them, who waits long for a final reply (`slow`), and whether it drains."""

    slots: int
    in_slots: int = 0
    with_attachments: int = 0
    suspects: int = 0
    slow: int = 0
    is_draining: bool = False

    @property
    def half(self) -> int:
        """Half of the slots, one at least."""
        return max(1, self.slots // 2)

    @property
    def mailbox_share(self) -> int:
        """What one mailbox may have: half, but two where there are two, lest an attachment stops its plain mail."""
        return max(self.half, min(2, self.slots))


@dataclass(slots=True)
class RelayState:
    """One relay. `heavy` = with attachments; `probing`: a probe is under way while its breaker is not closed.

    `era` rises when it is reached in another way: what began before says nothing of it any more. `total` is all that goes through it, `streams` what goes to each domain, those with the latest starts last.
    """

    relay: Relay
    meter: Meter
    breaker: Breaker = CLOSED
    in_flight: int = 0
    bulk_in_flight: int = 0
    heavy_in_flight: int = 0
    probing: bool = False
    era: int = 0
    total: Stream = field(default_factory=Stream)
    streams: dict[str, Stream] = field(default_factory=dict)

    def stream(self, domain: str) -> Stream:
        """What goes to a domain, from now on among the latest."""
        found = self.streams.pop(domain, None) or Stream()
        self.streams[domain] = found
        if len(self.streams) > STREAMS:
            idle = (name for name, one in self.streams.items() if one.is_idle and one is not found)
            self.streams.pop(next(idle, ""), None)
        return found

    def slow_domains(self, mono: int) -> dict[str, Slowing]:
        """The domains that are slowed down now."""
        found = {name: one.slowed(mono) for name, one in self.streams.items()}
        return {name: slowing for name, slowing in found.items() if slowing is not None}


@dataclass(slots=True)
class DomainState:
    """One recipient domain that the operator set a pace for, or that is paused."""

    pace: DomainPace
    second: Gcra | None
    in_flight: int = 0
    paused_until: Instant | None = None
    reason: ReasonCode | None = None

    def is_idle(self, now: Instant) -> bool:
        """Whether nothing has to be known of it."""
        is_paused = self.paused_until is not None and self.paused_until > now
        return self.pace == DomainPace() and not self.in_flight and not is_paused


@dataclass(slots=True)
class MailboxState:
    """One mailbox. `paused_by` a person; `avoid` is the domain of the last probe that was refused.

    `era` rises when it sends from another address or through another relay.
    """

    mailbox: Mailbox
    meter: Meter
    bulk: Gcra | None
    breaker: Breaker = CLOSED
    paused_by: str | None = None
    in_flight: int = 0
    in_slots: int = 0
    bulk_in_flight: int = 0
    heavy_in_flight: int = 0
    bulk_in_slots: int = 0
    heavy_in_slots: int = 0
    probing: bool = False
    era: int = 0
    avoid: str | None = None
    domains: dict[str, DomainState] = field(default_factory=dict)
    _most_domains: int = DOMAINS

    def forget_domains(self, now: Instant) -> None:
        """Let those go that nothing is known of any more, once there are many; seldom, for it looks at all."""
        if len(self.domains) < self._most_domains:
            return
        self.domains = {name: one for name, one in self.domains.items() if not one.is_idle(now)}
        self._most_domains = max(DOMAINS, 2 * len(self.domains))


@dataclass(slots=True)
class Reservation:
    """What a delivery under way holds. `minute` since 1970 is that of its buckets."""

    lane: Lane
    mono: int
    minute: int
    domain: DomainState | None
    stream: Stream
    has_attachments: bool
    is_suspect: bool
    is_relay_probe: bool
    is_mailbox_probe: bool
    relay_era: int
    mailbox_era: int
    is_slow: bool = False


@dataclass(frozen=True, slots=True)
class World:
    """Everything as one mailbox sees it."""

    host: Host
    relay: RelayState
    mailbox: MailboxState

    def reserve(self, row: Row, now: Moment) -> Reservation:
        """Count a delivery that `admit` let go as under way, and its start against every pace."""
        mailbox, relay = self.mailbox, self.relay
        domain = mailbox.domains.get(row.domain)
        held = Reservation(
            lane=row.lane,
            mono=now.mono,
            minute=now.at // MINUTE,
            domain=domain,
            stream=relay.stream(row.domain),
            has_attachments=row.has_attachments,
            is_suspect=row.is_suspect,
            is_relay_probe=not relay.breaker.is_closed,
            is_mailbox_probe=not mailbox.breaker.is_closed,
            relay_era=relay.era,
            mailbox_era=mailbox.era,
        )
        relay.probing |= held.is_relay_probe
        mailbox.probing |= held.is_mailbox_probe
        mailbox.meter.take(row.lane, now.mono)
        relay.meter.take(row.lane, now.mono)
        relay.total.take(now.mono)
        held.stream.take(now.mono)
        if domain is not None and domain.second is not None:
            domain.second.take(now.mono)
        if row.lane is Lane.BULK and mailbox.bulk is not None:
            mailbox.bulk.take(now.mono)
        self._count_flight(held, 1)
        self._count_slot(held, 1)
        return held

    def leave_slots(self, held: Reservation) -> None:
        """It waits long for its final reply: it frees its slot of the daemon, and nothing else."""
        if not held.is_slow:
            self._count_slot(held, -1)
            held.is_slow = True
            self.host.slow += 1

    def release(self, held: Reservation, *, reached_mail: bool) -> None:
        """It is over. A start that never reached MAIL counts for no window."""
        if held.is_slow:
            self.host.slow -= 1
        else:
            self._count_slot(held, -1)
        self._count_flight(held, -1)
        self.relay.total.end()
        held.stream.end()
        if held.is_relay_probe and self.is_about_relay(held):
            self.relay.probing = False
        if held.is_mailbox_probe and self.is_about_mailbox(held):
            self.mailbox.probing = False
        if not reached_mail:
            self.mailbox.meter.give_back(held.lane, held.mono)
            self.relay.meter.give_back(held.lane, held.mono)

    def is_about_relay(self, held: Reservation) -> bool:
        """Whether what it comes to speaks of the relay as it is reached now."""
        return held.relay_era == self.relay.era

    def is_about_mailbox(self, held: Reservation) -> bool:
        """Whether what it comes to speaks of the mailbox as it sends now."""
        return held.mailbox_era == self.mailbox.era

    def pause_domain(
        self, domain: str, until_at: Instant, reason: ReasonCode, now: Instant
    ) -> None:
        """Leave a recipient domain alone until then."""
        found = self.mailbox.domains.setdefault(domain, DomainState(DomainPace(), None))
        found.paused_until, found.reason = until_at, reason
        self.mailbox.forget_domains(now)

    def is_held_back(self, domain: str, now: Moment) -> bool:
        """Whether a recipient domain is left alone or slowed down."""
        paused = self.mailbox.domains.get(domain)
        if paused is not None and (paused.paused_until or 0) > now.at:
            return True
        stream = self.relay.streams.get(domain)
        return stream is not None and stream.slowed(now.mono) is not None

    def resume(self, now: Instant) -> None:
        """A person says that all is well with the mailbox: its pause and its breaker are over.

        The relay, where it is stopped, is probed at once: it is not this mailbox's alone, so a probe has to show it.
        """
        self.mailbox.paused_by = None
        self.mailbox.breaker = CLOSED
        self.mailbox.avoid = None
        if self.relay.breaker.state is BreakerState.OPEN:
            self.relay.breaker = renewed(self.relay.breaker, now)

    def mend(self, now: Instant) -> None:
        """Shorten waits that only a damaged clock can have set: at start, and whenever wall time is looked at anew."""
        self.relay.breaker = mended(self.relay.breaker, now)
        self.mailbox.breaker = mended(self.mailbox.breaker, now)
        longest = later(now, LONGEST_DOMAIN_PAUSE)
        for domain in self.mailbox.domains.values():
            if domain.paused_until is not None:
                domain.paused_until = min(domain.paused_until, longest)

    def _count_flight(self, held: Reservation, by: int) -> None:
        for state in (self.relay, self.mailbox):
            state.in_flight += by
            state.bulk_in_flight += by if held.lane is Lane.BULK else 0
            state.heavy_in_flight += by if held.has_attachments else 0
        if held.domain is not None:
            held.domain.in_flight += by
        self.host.suspects += by if held.is_suspect else 0

    def _count_slot(self, held: Reservation, by: int) -> None:
        self.host.in_slots += by
        self.mailbox.in_slots += by
        self.mailbox.bulk_in_slots += by if held.lane is Lane.BULK else 0
        self.mailbox.heavy_in_slots += by if held.has_attachments else 0
        self.host.with_attachments += by if held.has_attachments else 0
