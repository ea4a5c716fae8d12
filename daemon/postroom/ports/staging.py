"""Where the bytes of attachments and of large texts come from and lie, as acceptance sees it.

Files land in the content-addressed spool before any row names them (HAZARDS §1.1); what no row names is removed by
age, so a caller that stages and then is refused leaves nothing to undo.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from postroom.core.job import PathAttachment
from postroom.core.record import StagedRecord


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file by path that is safe to name: copied into the spool, or pinned where it is (`pinned_path`).

    `name` is its last path component, cleaned as HAZARDS A7 asks.
    """

    sha256: str
    size_bytes: int
    name: str
    pinned_path: str | None = None


@dataclass(frozen=True, slots=True)
class FileRefused:
    """The file can not be taken; `detail` is a sentence for the caller. `code` tells `attachment_changing` apart."""

    detail: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class FilesSlow:
    """Reading took longer than 60 s in all: nothing is kept, the same call may be made again (503)."""


class Staging(Protocol):
    """The spool, and the only door to files by path.

    Methods that write raise StoreUnavailable or StorageFull when the spool can not take the bytes.
    """

    async def find_staged(self, ref: str) -> StagedRecord | None:
        """The staged upload that this public reference names."""
        ...

    async def keep_files(
        self,
        files: Sequence[PathAttachment],
        *,
        roots: Sequence[str],
        limit_bytes: int,
        reader_uid: int | None = None,
    ) -> tuple[KeptFile | FileRefused, ...] | FilesSlow:
        """Copy or pin each file, in order: beneath a root, no links, a regular file of at most `limit_bytes` (0 = any).

        `reader_uid` is who asks: the file must be theirs, or readable by group or others; None = it must be that.
        Size and time are the same before and after, else refused with the code `attachment_changing`.
        """
        ...

    async def digest_files(
        self,
        files: Sequence[PathAttachment],
        *,
        roots: Sequence[str],
        limit_bytes: int,
        reader_uid: int | None = None,
    ) -> tuple[str | None, ...] | FilesSlow:
        """The hex SHA-256 of each file as it is now, None where `keep_files` would refuse it; nothing is kept."""
        ...

    async def keep_bytes(self, content: bytes) -> str:
        """Put these bytes into the spool, durably; their hex SHA-256."""
        ...
