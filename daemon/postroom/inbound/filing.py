"""What a parser laid into its directory becomes files of the spool with references of their own.

A file is moved to the name that the parser gave it, which is a digest and nothing else; where it is not, or there is no
such file, the whole answer counts for nothing. What no event names in the end is removed from the spool by age.
"""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Final, TypeVar

from postroom.core.ids import REF_BITS, attachment_ref
from postroom.core.inmail import InAttachment, InMail
from postroom.ops.spool import Spool
from postroom.ports.arriving import RawFile, StoredAttachment
from postroom.ports.host import Clock, Entropy


T = TypeVar("T")

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class Garbled(Exception):
    """The parser named a file that it did not write."""


@dataclass(frozen=True, slots=True)
class Filed:
    """The files of one message, each with its reference."""

    attachments: tuple[StoredAttachment, ...]
    html: StoredAttachment | None
    text: StoredAttachment | None


@dataclass(frozen=True, slots=True)
class Filing:
    """`root` is a directory of our own on the file system of the spool."""

    root: Path
    spool: Spool
    files: Executor
    clock: Clock
    entropy: Entropy

    def open(self) -> None:
        """Make the directory, without what an earlier process left in it."""
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(mode=0o700, exist_ok=True)

    @asynccontextmanager
    async def directory(self) -> AsyncIterator[Path]:
        """A directory for one message, until the end of the block."""
        made = Path(await self._in_thread(lambda: mkdtemp(dir=self.root)))
        try:
            yield made
        finally:
            self.files.submit(shutil.rmtree, made, ignore_errors=True)

    def raw(self, raw: bytes | RawFile) -> bytes | Path:
        """What the parser is given."""
        return self.spool.path(raw.sha256) if isinstance(raw, RawFile) else raw

    async def file(self, mail: InMail, directory: Path) -> Filed:
        """Put the files of a message into the spool, durably.

        Raises: Garbled; StorageFull, StoreUnavailable.
        """
        named = [*mail.attachments, *filter(None, (mail.html_file, mail.text_file))]
        digests = dict.fromkeys(one.sha256 for one in named)
        if digests:
            await self._in_thread(lambda: self._adopt(directory, list(digests)))
        return Filed(
            tuple(self._stored(one) for one in mail.attachments),
            None if mail.html_file is None else self._stored(mail.html_file),
            None if mail.text_file is None else self._stored(mail.text_file),
        )

    def _adopt(self, directory: Path, digests: list[str]) -> None:
        for digest in digests:
            path = directory / digest
            if not _DIGEST.fullmatch(digest) or path.is_symlink() or not path.is_file():
                raise Garbled
            self.spool.adopt(path, digest)

    def _stored(self, file: InAttachment) -> StoredAttachment:
        return StoredAttachment(
            ref=attachment_ref(self.clock.now(), self.entropy.token(REF_BITS)),
            sha256=file.sha256,
            size_bytes=file.size_bytes,
            filename=file.filename,
            content_type=file.content_type,
            is_inline=file.is_inline,
        )

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.files, work)
