"""An inbox without a store: what was received, what the store is to say instead, and whether it has to wait."""

import asyncio
import hashlib
from collections.abc import Sequence
from datetime import timedelta

from postroom.core.instant import Instant
from postroom.core.token import Key
from postroom.ports.arriving import Arrival, RawFile, Received


class FakeInbox:
    """ports.Inbox and ports.RawStore in memory."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.raws: dict[str, bytes] = {}
        self.fault: Exception | None = None
        self.raw_fault: Exception | None = None
        self.asked = 0
        self.at_once = 0
        self.most_at_once = 0
        self.largest_piece = 0
        self.keys: dict[str, tuple[Key, bool]] = {}
        self.is_open = asyncio.Event()
        self.is_open.set()

    async def receive(self, arrival: Arrival) -> int:
        self.asked += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.is_open.wait()
            if self.fault is not None:
                raise self.fault
        finally:
            self.at_once -= 1
        self.arrivals.append(arrival)
        return len(self.arrivals)

    async def find_received(self, after: int, limit: int) -> tuple[Received, ...]:
        rows = [Received(n, arrival) for n, arrival in enumerate(self.arrivals, start=1)]
        return tuple(rows[after : after + limit])

    async def remember_keys(
        self, keys: Sequence[Key], at: Instant, validity: timedelta
    ) -> tuple[str, ...]:
        for place, key in enumerate(keys):
            has_issued = self.keys.get(key.fingerprint, (key, False))[1]
            self.keys[key.fingerprint] = (key, has_issued or place == 0)
        given = {key.fingerprint for key in keys}
        return tuple(
            name for name, (_, has_issued) in self.keys.items() if has_issued and name not in given
        )

    async def has_issued(self) -> bool:
        return any(has_issued for _, has_issued in self.keys.values())

    def incoming(self) -> "FakeIncoming":
        return FakeIncoming(self)

    def content(self, place: int = 0) -> bytes:
        """The bytes of what was received."""
        raw = self.arrivals[place].raw
        return self.raws[raw.sha256] if isinstance(raw, RawFile) else raw


class FakeIncoming:
    """ports.RawIncoming in memory."""

    def __init__(self, inbox: FakeInbox) -> None:
        self._inbox = inbox
        self._content = bytearray()

    async def add(self, piece: bytes) -> None:
        self._inbox.largest_piece = max(self._inbox.largest_piece, len(piece))
        self._content += piece
        if self._inbox.raw_fault is not None:
            raise self._inbox.raw_fault

    async def keep(self, last: bytes) -> RawFile:
        await self.add(last)
        sha256 = hashlib.sha256(self._content).hexdigest()
        self._inbox.raws[sha256] = bytes(self._content)
        return RawFile(sha256, len(self._content))

    async def drop(self) -> None:
        self._content.clear()
