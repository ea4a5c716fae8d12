"""Who may come in: connections at once and in a minute, for each address and in all (HAZARDS §1.3).

An IPv6 address counts by its /64, which is what one host has. Peers in `trusted_relays`, and programs of
this machine, are never counted by address: behind one of theirs stand many senders.
Known limits: what is remembered of addresses is bounded; in a flood from very many the oldest are forgotten.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from postroom.core.instant import MINUTE
from postroom.core.listening import Network
from postroom.inbound.limits import Limits
from postroom.inbound.words import Reply
from postroom.ports.host import Clock


_REMEMBERED: Final = 8_192  # addresses
_UNKNOWN_WINDOW: Final = 10 * MINUTE


@dataclass(frozen=True, slots=True)
class Guest:
    """A connection that came in. `ip` is for people, `key` is what it is counted by, unless it `is_exempt`."""

    ip: str
    key: str
    is_trusted: bool
    is_exempt: bool


@dataclass(slots=True)
class _Count:
    began: int
    number: int = 0


@dataclass(slots=True)
class _Counts:
    """How often something happened for a key within a window; only so many keys are kept."""

    window: int
    by_key: OrderedDict[str, _Count] = field(default_factory=OrderedDict)

    def add(self, key: str, now: int) -> int:
        count = self.by_key.get(key)
        if count is None or now - count.began >= self.window:
            count = self.by_key[key] = _Count(now)
            self.by_key.move_to_end(key)
            if len(self.by_key) > _REMEMBERED:
                self.by_key.popitem(last=False)
        count.number += 1
        return count.number


def _no_room(are_exempt_meant: bool) -> bool:  # noqa: FBT001 - as the listener's own
    return False


class Door:
    """Counts who is in."""

    def __init__(self, limits: Limits, trusted: tuple[Network, ...], clock: Clock) -> None:
        self._limits = limits
        self._trusted = trusted
        self._clock = clock
        self._inside: dict[str, int] = {}
        self._all = 0
        self._all_exempt = 0
        self._began = _Counts(MINUTE)
        self._unknown = _Counts(_UNKNOWN_WINDOW)

    def enter(self, host: str, make_room: Callable[[bool], bool] = _no_room) -> Guest | Reply:
        """The guest, or what to say to it before the door is shut.

        Where no place is left `make_room` is asked to let somebody leave (True: of those who are not counted by
        address, since it is their places that are taken), and says whether one has.
        """
        address = _address(host)
        is_trusted = self._is_trusted(address)
        is_neighbour = address.is_loopback and not self._limits.are_neighbours_counted
        is_exempt = is_trusted or is_neighbour
        guest = Guest(str(address), _key(address), is_trusted, is_exempt)
        refused = None if is_exempt else self._refuse_stranger(guest.key)
        if refused is not None:
            return refused
        is_one_too_many = is_exempt and self._all_exempt >= self._most_exempt
        is_full = is_one_too_many or self._all >= self._limits.connections
        if is_full and not make_room(is_one_too_many):
            return Reply.TOO_BUSY
        self._all += 1
        self._all_exempt += guest.is_exempt
        self._inside[guest.key] = self._inside.get(guest.key, 0) + 1
        return guest

    def trust(self, networks: tuple[Network, ...]) -> None:
        """Trust these from now on; who is in stays as it came."""
        self._trusted = networks

    def leave(self, guest: Guest) -> None:
        """It is gone; to be called once."""
        self._all -= 1
        self._all_exempt -= guest.is_exempt
        left = self._inside.pop(guest.key) - 1
        if left:
            self._inside[guest.key] = left

    def asked_for_unknown(self, guest: Guest) -> bool:
        """Note that it asked for somebody who is not here; whether it does so too often."""
        if guest.is_exempt:
            return False
        asked = self._unknown.add(guest.key, self._clock.monotonic())
        return asked > self._limits.unknown_free

    @property
    def _most_exempt(self) -> int:
        return self._limits.connections - self._limits.kept_for_others

    def _refuse_stranger(self, key: str) -> Reply | None:
        if self._began.add(key, self._clock.monotonic()) > self._limits.per_minute:
            return Reply.TOO_FAST
        if self._inside.get(key, 0) >= self._limits.per_address:
            return Reply.TOO_BUSY
        return None

    def _is_trusted(self, address: IPv4Address | IPv6Address) -> bool:
        return any(
            address.version == network.version and address in network for network in self._trusted
        )


def _address(host: str) -> IPv4Address | IPv6Address:
    """The address without its zone; IPv4 where it comes to us as IPv6."""
    address = ip_address(host.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _key(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return str(address)
