"""The inbox as the way in sees it. One method that writes = one transaction, committed when it returns."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from postroom.core.instant import Instant
from postroom.core.record import ThreadRecord
from postroom.core.token import Key
from postroom.ports.arriving import Arrival, Publication, PublishResult, RawFile, Received, Spoiled
from postroom.ports.errors import StoreError


class Inbox(Protocol):
    """What came in, until it is published.

    Methods that write raise StoreUnavailable, StorageFull or StoreBroken: then nothing was stored.
    """

    async def receive(self, arrival: Arrival) -> int:
        """Store a message and its envelope; its number. At this commit it is ours, and 250 may be said."""
        ...

    async def find_received(self, after: int, limit: int) -> tuple[Received | Spoiled, ...]:
        """Messages that are not published yet, with number > `after`, in order of receipt."""
        ...

    async def count_waiting(self) -> int:
        """How many are not published yet; a scan of those, for start-up only."""
        ...

    async def find_oldest(self) -> Instant | None:
        """When the oldest of those was received; None where all are published."""
        ...

    async def publish(self, publication: Publication) -> PublishResult:
        """Find the thread, write event, facts and what is pending for consumers; after the last one of a message it is done."""
        ...

    async def settle_holds(self, at: Instant) -> bool:
        """Go one step on with what loops began to hold or to free; False when nothing is left of it."""
        ...

    async def remember_keys(
        self, keys: Sequence[Key], at: Instant, validity: timedelta
    ) -> tuple[str, ...]:
        """Note the keys that are in use, the first of which issues tokens; what is missing of those that did.

        Fingerprints of keys that issued tokens which may still be valid and are not among `keys`. To be called at start
        and at least daily, for a key is known to have issued until the last such call.
        """
        ...

    async def has_issued(self) -> bool:
        """Whether any key ever issued tokens in this store."""
        ...


class Conversations(Protocol):
    """Questions about what came in; none of them waits for the writer."""

    async def find_event_raw(self, seq: int) -> bytes | RawFile | None:
        """What was received, to the byte; None where an event has none, or none any more."""
        ...

    async def find_thread(self, number: int, limit: int) -> ThreadRecord | None:
        """A thread with its latest deliveries and events, at most `limit` of each, in their order."""
        ...

    async def is_inbound_pending(self, thread_number: int) -> bool:
        """Whether a stored message that is not published yet names the thread by a valid token."""
        ...


class IntakeAccount(Protocol):
    """Told what becomes of what was received; must not raise."""

    def published(self, publication: Publication, result: PublishResult) -> None:
        """A message is an event now, or was one before."""
        ...

    def mail_set_aside(self, number: int, error: Exception) -> None:
        """It can not even be published as unread: it stays stored, and is tried again after a restart."""
        ...

    def verifier_failed(self, error: Exception) -> None:
        """Nobody could judge whom a message is from, for a fault of ours; it is told all the same."""
        ...

    def store_refused(self, error: StoreError) -> None:
        """The store takes nothing at the moment; it is tried again."""
        ...


class RawIncoming(Protocol):
    """Raw bytes that come in piece by piece; unless they are kept, nothing of them stays."""

    async def add(self, piece: bytes) -> None:
        """Append it. Raises: StorageFull, StoreUnavailable."""
        ...

    async def keep(self, last: bytes) -> RawFile:
        """Append the last piece, and put all into the spool, durably. Raises: StorageFull, StoreUnavailable."""
        ...

    async def drop(self) -> None:
        """Leave nothing of what was not kept; may be said at any time."""
        ...


class RawStore(Protocol):
    """Where raw bytes above 64 KiB lie."""

    def incoming(self) -> RawIncoming:
        """A message on its way in."""
        ...
