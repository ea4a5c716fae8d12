"""Staged uploads as the API sees them: bytes that come in before the job that needs them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from postroom.core.record import StagedRecord
from postroom.ports.desk import Actor


@dataclass(frozen=True, slots=True)
class UploadTooLarge:
    """More than `limit_bytes` came; nothing is kept."""

    limit_bytes: int


@dataclass(frozen=True, slots=True)
class Upload:
    """What comes: cleaned name, type as claimed, who sends it, and at most how many bytes (0 = any)."""

    filename: str
    content_type: str
    actor: Actor
    limit_bytes: int


class Uploads(Protocol):
    """The spool's front desk."""

    async def stage(
        self, upload: Upload, content: AsyncIterator[bytes]
    ) -> StagedRecord | UploadTooLarge:
        """Keep the content durably and name it. What `content` raises is raised again, and nothing is kept.

        Raises: StoreUnavailable, StorageFull.
        """
        ...

    async def find_staged(self, ref: str) -> StagedRecord | None:
        """The staged upload of this public reference."""
        ...

    async def open_staged(self, staged: StagedRecord) -> AsyncIterator[bytes] | None:
        """Its bytes, in pieces; None when they are gone."""
        ...

    async def open_file(self, sha256: str) -> AsyncIterator[bytes] | None:
        """The bytes of a file of the spool by its hex digest; None when it is gone."""
        ...
