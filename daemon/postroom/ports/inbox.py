"""The inbox as the way in sees it. One method that writes = one transaction, committed when it returns."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from postroom.core.instant import Instant
from postroom.core.token import Key
from postroom.ports.arriving import Arrival, Publication, PublishResult, RawFile, Received


class Inbox(Protocol):
    """What came in, until it is published.

    Methods that write raise StoreUnavailable, StorageFull or StoreBroken: then nothing was stored.
    """

    async def receive(self, arrival: Arrival) -> int:
        """Store a message and its envelope; its number. At this commit it is ours, and 250 may be said."""
        ...

    async def find_received(self, after: int, limit: int) -> tuple[Received, ...]:
        """Messages that are not published yet, with number > `after`, in order of receipt."""
        ...

    async def publish(self, publication: Publication) -> PublishResult:
        """Find the thread, write event, facts and what is pending for consumers; after the last one of a message it is done."""
        ...

    async def remember_keys(self, keys: Sequence[Key], at: Instant) -> tuple[str, ...]:
        """Note the keys that may issue tokens; the fingerprints of keys that issued valid tokens and are not among them."""
        ...


class RawStore(Protocol):
    """Where raw bytes above 64 KiB lie."""

    async def keep(self, pieces: AsyncIterator[bytes]) -> RawFile:
        """Put them into the spool, durably."""
        ...
