"""Doubt as the daemon's own caretaker sees it: what a mailbox's `on_uncertain` decides when its time has come."""

from dataclasses import dataclass
from typing import Protocol

from postroom.core.instant import Instant
from postroom.core.mailbox import OnUncertain


@dataclass(frozen=True, slots=True)
class PolicyTurn:
    """Decide about deliveries of a mailbox that are in doubt since `until` or longer; at most `limit` of them."""

    mailbox_id: str
    kind: OnUncertain
    until: Instant
    at: Instant
    limit: int


@dataclass(frozen=True, slots=True)
class PolicyDone:
    """How many were decided, and since when the oldest is in doubt of those that are left to decide (None = none is)."""

    done: int
    since: Instant | None


class Doubts(Protocol):
    """Deliveries in doubt."""

    async def settle_due(self, turn: PolicyTurn) -> PolicyDone:
        """Decide, the oldest doubts first. Raises: StoreUnavailable, StorageFull, StoreBroken."""
        ...
