"""Settings and state become worlds: what the store remembers of the time before the start, and what is known since then.

Rules: a relay or mailbox that is known goes on with its own state, whatever its settings were meanwhile; of one that is
new the store knows how it was left. No bound is ever filled up by new settings.
"""

from collections.abc import Mapping

from postroom.core.changeover import change_mailbox, change_relay, mailbox_state, relay_state
from postroom.core.instant import Moment
from postroom.core.mailbox import Mailbox, Relay
from postroom.core.pace import Gcra, Meter
from postroom.core.world import Host, MailboxState, RelayState, World
from postroom.ports.looping import LoopState, ScopeState


class Known:
    """The state of every relay and mailbox that was in the settings since the start."""

    def __init__(self) -> None:
        self._relays: dict[str, RelayState] = {}
        self._mailboxes: dict[str, MailboxState] = {}
        self._current: frozenset[str] = frozenset()

    def worlds(
        self,
        mailboxes: Mapping[str, Mailbox],
        relays: Mapping[str, Relay],
        stored: LoopState,
        host: Host,
        now: Moment,
    ) -> dict[str, World]:
        """A world for each configured mailbox, with breakers, pauses and pace as they are or were left."""
        new_relays = {id_: relay_state(relays[id_]) for id_ in relays.keys() - self._relays.keys()}
        new_mailboxes = {
            id_: mailbox_state(mailboxes[id_]) for id_ in mailboxes.keys() - self._mailboxes.keys()
        }
        meters = self._change(mailboxes, relays, now)
        meters |= {f"r:{id_}": relay.meter for id_, relay in new_relays.items()}
        meters |= {f"m:{id_}": mailbox.meter for id_, mailbox in new_mailboxes.items()}
        _restore_scopes(new_relays, new_mailboxes, stored, now)
        _restore_buckets(meters, stored, now)
        _restore_speeds(new_relays, stored, now)
        self._relays |= new_relays
        self._mailboxes |= new_mailboxes
        self._restore_pauses(frozenset(mailboxes) - self._current, stored)
        self._current = frozenset(mailboxes)
        worlds = {
            id_: World(host, self._relays[mailbox.relay_id], self._mailboxes[id_])
            for id_, mailbox in mailboxes.items()
        }
        for pause in stored.domain_pauses:
            if pause.mailbox_id in new_mailboxes and pause.until_at > now.at:
                world = worlds[pause.mailbox_id]
                world.pause_domain(pause.domain, pause.until_at, pause.reason_code, now.at)
        for world in worlds.values():
            world.mend(now.at)
        return worlds

    def _change(
        self, mailboxes: Mapping[str, Mailbox], relays: Mapping[str, Relay], now: Moment
    ) -> dict[str, Meter]:
        """Give those that are known their settings; their meters as far as the store has to fill them."""
        meters = {
            f"r:{id_}": change_relay(self._relays[id_], relays[id_], now)
            for id_ in relays.keys() & self._relays.keys()
        }
        return meters | {
            f"m:{id_}": change_mailbox(self._mailboxes[id_], mailboxes[id_], now)
            for id_ in mailboxes.keys() & self._mailboxes.keys()
        }

    def _restore_pauses(self, added: frozenset[str], stored: LoopState) -> None:
        """A person may have paused a mailbox a moment before it left the settings."""
        for scope in stored.mailboxes:
            if scope.id in added:
                self._mailboxes[scope.id].paused_by = scope.paused_by


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


def _restore_buckets(meters: Mapping[str, Meter], stored: LoopState, now: Moment) -> None:
    """In the order of their minutes, as a meter wants them; at a reload few meters or none have a window to fill."""
    wanted = {scope: one for scope, one in meters.items() if one.has_windows}
    if not wanted:
        return
    found = [one for one in stored.buckets if one[0].scope in wanted and one[1] > 0]
    for bucket, count in sorted(found, key=lambda one: one[0].minute):
        wanted[bucket.scope].restore(bucket.lane, bucket.minute, count, now)
