"""What settings make of a relay or a mailbox: where it is at work other bounds, and everything that was counted stays. Pure.

Rules: no bound is filled up by it. Who is under way stays counted. Breakers stay as they are, unless what they guard is
reached in another way: then the next probe may go at once, and how older attempts end says nothing about it.
"""

from typing import Final

from postroom.core.breaker import renewed
from postroom.core.instant import Moment
from postroom.core.mailbox import DomainPace, Mailbox, Relay
from postroom.core.pace import Meter, changed_gcra, gcra, meter
from postroom.core.world import DomainState, MailboxState, RelayState


_FREE: Final = DomainPace()


def relay_state(relay: Relay) -> RelayState:
    """A relay of which nothing is known yet."""
    return RelayState(relay, meter(relay.pace))


def mailbox_state(mailbox: Mailbox) -> MailboxState:
    """A mailbox of which nothing is known yet."""
    return MailboxState(
        mailbox,
        meter(mailbox.pace),
        gcra(mailbox.lanes.bulk_per_second),
        domains={
            name: DomainState(pace, gcra(pace.per_second, pace.burst))
            for name, pace in mailbox.domain_pace.items()
        },
    )


def change_relay(state: RelayState, relay: Relay, now: Moment) -> Meter:
    """Go on with these settings. The windows that nothing was counted in so far."""
    if relay.access != state.relay.access:
        state.breaker = renewed(state.breaker, now.at)
        state.probing = False
        state.era += 1
    state.relay = relay
    return state.meter.change(relay.pace, now.mono)


def change_mailbox(state: MailboxState, mailbox: Mailbox, now: Moment) -> Meter:
    """Go on with these settings. The windows that nothing was counted in so far."""
    before = state.mailbox
    if (mailbox.relay_id, mailbox.address) != (before.relay_id, before.address):
        state.breaker = renewed(state.breaker, now.at)
        state.probing = False
        state.avoid = None
        state.era += 1
    state.mailbox = mailbox
    state.bulk = changed_gcra(state.bulk, mailbox.lanes.bulk_per_second, 1, now.mono)
    _change_domains(state, mailbox, now)
    return state.meter.change(mailbox.pace, now.mono)


def _change_domains(state: MailboxState, mailbox: Mailbox, now: Moment) -> None:
    """Domains that are bounded no more are kept while something is known of them."""
    for name in mailbox.domain_pace.keys() - state.domains.keys():
        state.domains[name] = DomainState(_FREE, None)
    for name, domain in list(state.domains.items()):
        domain.pace = mailbox.domain_pace.get(name, _FREE)
        domain.second = changed_gcra(
            domain.second, domain.pace.per_second, domain.pace.burst, now.mono
        )
        if domain.is_idle(now.at):
            del state.domains[name]
