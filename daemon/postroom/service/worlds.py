"""What the loop remembers of the time before it started: settings and stored state become worlds."""

from collections.abc import Mapping

from postroom.core.instant import Moment
from postroom.core.mailbox import Mailbox, Relay
from postroom.core.pace import Gcra, Meter
from postroom.core.world import Host, MailboxState, RelayState, World, mailbox_state, relay_state
from postroom.ports.looping import LoopState, ScopeState


def build_worlds(
    mailboxes: Mapping[str, Mailbox],
    relays: Mapping[str, Relay],
    stored: LoopState,
    host: Host,
    now: Moment,
) -> dict[str, World]:
    """A world for each configured mailbox, with breakers, pauses and pace as they were left."""
    relay_states = {id_: relay_state(relay) for id_, relay in relays.items()}
    mailbox_states = {id_: mailbox_state(mailbox) for id_, mailbox in mailboxes.items()}
    _restore_scopes(relay_states, mailbox_states, stored, now)
    _restore_buckets(relay_states, mailbox_states, stored, now)
    _restore_speeds(relay_states, stored, now)
    worlds = {
        id_: World(host, relay_states[mailboxes[id_].relay_id], state)
        for id_, state in mailbox_states.items()
    }
    for pause in stored.domain_pauses:
        if pause.mailbox_id in worlds and pause.until_at > now.at:
            worlds[pause.mailbox_id].pause_domain(pause.domain, pause.until_at, pause.reason_code)
    for world in worlds.values():
        world.mend(now.at)
    return worlds


def _restore_scopes(
    relays: Mapping[str, RelayState],
    mailboxes: Mapping[str, MailboxState],
    stored: LoopState,
    now: Moment,
) -> None:
    for scope in stored.relays:
        relay = relays.get(scope.id)
        if relay is not None:
            relay.breaker = scope.breaker
            _restore_pace(relay.meter.second, scope, now)
    for scope in stored.mailboxes:
        mailbox = mailboxes.get(scope.id)
        if mailbox is not None:
            mailbox.breaker = scope.breaker
            mailbox.paused_by = scope.paused_by
            _restore_pace(mailbox.meter.second, scope, now)


def _restore_pace(second: Gcra | None, scope: ScopeState, now: Moment) -> None:
    if second is not None and scope.pace_at is not None:
        second.restore(scope.pace_at, now)


def _restore_speeds(relays: Mapping[str, RelayState], stored: LoopState, now: Moment) -> None:
    for relay_id, domain, slowing in stored.slowings:
        relay = relays.get(relay_id)
        if relay is not None:
            stream = relay.total if domain is None else relay.stream(domain)
            stream.restore(slowing, now)


def _restore_buckets(
    relays: Mapping[str, RelayState],
    mailboxes: Mapping[str, MailboxState],
    stored: LoopState,
    now: Moment,
) -> None:
    """In the order of their minutes, as a meter wants them."""
    meters: dict[str, Meter] = {f"r:{id_}": relay.meter for id_, relay in relays.items()}
    meters |= {f"m:{id_}": mailbox.meter for id_, mailbox in mailboxes.items()}
    for bucket, count in sorted(stored.buckets, key=lambda found: found[0].minute):
        meter = meters.get(bucket.scope)
        if meter is not None and count > 0:
            meter.restore(bucket.lane, bucket.minute, count, now)
