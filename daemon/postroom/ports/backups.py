"""Backups of the running store, as the API hands them out."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Backup:
    """One that was begun: about how many bytes it will be, and the tar, in pieces. Whoever got it closes it."""

    expected_bytes: int
    pieces: AsyncIterator[bytes]
    close: Callable[[], None]


class BackupUnderWay:
    """Another one is not at its end."""


class Backups(Protocol):
    """Makes them, one at a time."""

    async def begin(self, uid: int) -> Backup | BackupUnderWay:
        """A copy of the database as it is now, and what belongs to it.

        Raises: StorageFull, StoreUnavailable.
        """
        ...
