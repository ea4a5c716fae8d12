"""What the daily digest needs of the store."""

from collections.abc import Mapping
from typing import Protocol

from postroom.core.digest import Unsent
from postroom.core.instant import Instant


class Digests(Protocol):
    """What ended unsent, and up to when each mailbox's owner knows."""

    async def find_told(self) -> Mapping[str, Instant]:
        """Up to when the digest of each mailbox has spoken."""
        ...

    async def find_failed(
        self, since: Instant, until: Instant, after: Unsent | None, limit: int
    ) -> tuple[Unsent, ...]:
        """What failed from `since` on and before `until`, in order, behind `after`; none of the daemon's own mail."""
        ...

    async def find_doubts(
        self, mailbox_id: str, after: Unsent | None, limit: int
    ) -> tuple[Unsent, ...]:
        """What of a mailbox is in doubt, the oldest first, behind `after`; none of the daemon's own mail."""
        ...

    async def note(self, told: Mapping[str, Instant]) -> None:
        """Each of these mailboxes' digests has spoken up to then. Raises: StoreUnavailable, StorageFull, StoreBroken."""
        ...
