"""DNS for all checks: a bounded cache, one packet for equal questions, and never an exception or a held loop.

Answers hold as long as their TTL says, within bounds. That a server could not tell is not kept; that nobody answered in
time is, for a while (silences). Without servers given, those of the system are asked, and looked up again from time to
time: a machine may get its network after its daemon, and a missing or broken file means that nobody answers.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final

from postroom.inbound.verify.silences import Silences
from postroom.ports.host import Clock
from postroom.ports.resolving import Answer, Found, Lookup, NoAnswer


if TYPE_CHECKING:
    from postroom.inbound.verify.dnsdoor import DnsDoor

SYSTEM: Final = Path("/etc/resolv.conf")
PORT: Final = 53
PATIENCE_S: Final = 3.0
_KEPT_MOST: Final = 2048
_KEPT_CHARACTERS: Final = 4096  # of one answer: the cache has at most some 10 MB
_TTL_LEAST: Final = 5  # seconds: one message asks for the same name several times
_TTL_MOST: Final = 3600
_NEGATIVE_TTL_MOST: Final = 300  # who sets up a domain must not wait for long
_SYSTEM_HOLDS_S: Final = 60
_SYSTEM_READ: Final = 64 * 1024
_SERVERS_MOST: Final = 3  # as every system resolver
_SECOND: Final = 1_000_000
_SLOW: Final = _SECOND


class DnsResolver:
    """The resolver of the daemon. `nameservers` are addresses with ports; None: those of the system."""

    def __init__(
        self,
        clock: Clock,
        nameservers: Sequence[tuple[str, int]] | None = None,
        *,
        patience_s: float = PATIENCE_S,
        system: Path = SYSTEM,
    ) -> None:
        self._clock = clock
        self._given = None if nameservers is None else tuple(nameservers)
        self._patience_s = patience_s
        self._system = system
        self._door: DnsDoor | None = None
        self._servers: tuple[tuple[str, int], ...] = ()
        self._look_again_at = 0
        self._kept: OrderedDict[Lookup, tuple[int, Answer]] = OrderedDict()
        self._flights: dict[Lookup, _Flight] = {}
        self._silences = Silences()

    async def ask(self, lookup: Lookup) -> Answer:
        """The answer, within the time box."""
        while True:
            kept = self._find_kept(lookup)
            if kept is not None:
                return kept
            flight = self._flights.get(lookup)
            if flight is None:
                return await self._lead(lookup)
            await flight.landed.wait()
            if flight.answer is not None:
                return flight.answer
            # Who asked was cancelled: somebody else asks.

    async def _lead(self, lookup: Lookup) -> Answer:
        flight = self._flights[lookup] = _Flight()
        try:
            flight.answer = await self._look_up(lookup)
            return flight.answer
        finally:
            del self._flights[lookup]
            flight.landed.set()

    async def _look_up(self, lookup: Lookup) -> Answer:
        door = await self._find_door()
        asked_at = self._clock.monotonic()
        if door is None or self._silences.holds(lookup, asked_at):
            return NoAnswer()
        try:
            async with asyncio.timeout(
                self._silences.patience_s(lookup, self._patience_s, asked_at)
            ):
                told = await door.ask(lookup)
        except TimeoutError:
            self._silences.add(lookup, asked_at, self._clock.monotonic())
            return NoAnswer()
        except asyncio.CancelledError:  # whoever asked has no more time
            self._note_slow(lookup, asked_at)
            raise
        if told.is_silence:
            self._silences.add(lookup, asked_at, self._clock.monotonic())
        elif isinstance(told.answer, NoAnswer):
            self._note_slow(lookup, asked_at)
        else:
            self._silences.heard(self._clock.monotonic())
        self._keep(lookup, told.answer, told.ttl)
        return told.answer

    def _note_slow(self, lookup: Lookup, asked_at: int) -> None:
        """Note as silent what cost time without an answer."""
        now = self._clock.monotonic()
        if now - asked_at >= _SLOW:
            self._silences.add(lookup, asked_at, now)

    async def _find_door(self) -> "DnsDoor | None":
        """The door to the servers of now; None where there are none."""
        if self._door is not None and self._given is not None:
            return self._door
        now = self._clock.monotonic()
        if self._door is None or now >= self._look_again_at:
            servers = self._given
            if servers is None:
                servers = await asyncio.to_thread(read_nameservers, self._system)
            if not servers:
                return None
            if servers != self._servers:
                self._door = await asyncio.to_thread(_open, servers, self._patience_s)
            self._servers = servers
            self._look_again_at = now + _SYSTEM_HOLDS_S * _SECOND
        return self._door

    def _find_kept(self, lookup: Lookup) -> Answer | None:
        until, answer = self._kept.get(lookup, (0, None))
        if answer is None or until <= self._clock.monotonic():
            return None
        self._kept.move_to_end(lookup)
        return answer

    def _keep(self, lookup: Lookup, answer: Answer, ttl: int) -> None:
        if isinstance(answer, NoAnswer):
            return
        most = _TTL_MOST if isinstance(answer, Found) else _NEGATIVE_TTL_MOST
        if isinstance(answer, Found) and sum(map(len, answer.records)) > _KEPT_CHARACTERS:
            return
        holds = min(max(ttl, _TTL_LEAST), most)
        self._kept[lookup] = (self._clock.monotonic() + holds * _SECOND, answer)
        self._kept.move_to_end(lookup)
        while len(self._kept) > _KEPT_MOST:
            self._kept.popitem(last=False)


class _Flight:
    """A question that was asked and is not answered yet."""

    __slots__ = ("answer", "landed")

    def __init__(self) -> None:
        self.landed = asyncio.Event()
        self.answer: Answer | None = None


def read_nameservers(path: Path) -> tuple[tuple[str, int], ...]:
    """The servers that the file names (resolv.conf(5)); none where it is missing or makes no sense."""
    try:
        with path.open("rb") as file:
            text = file.read(_SYSTEM_READ).decode("latin-1")
    except OSError:
        return ()
    words = [line.split() for line in text.splitlines()]
    named = [line[1] for line in words if len(line) > 1 and line[0] == "nameserver"]
    return tuple((one, PORT) for one in named if _is_address(one))[:_SERVERS_MOST]


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _open(servers: tuple[tuple[str, int], ...], patience_s: float) -> "DnsDoor":
    """Runs in a thread: the library takes a tenth of a second to import."""
    from postroom.inbound.verify.dnsdoor import DnsDoor  # noqa: PLC0415 - see above

    return DnsDoor(servers, patience_s)
