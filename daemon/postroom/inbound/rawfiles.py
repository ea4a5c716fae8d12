"""Raw bytes of large messages, in the spool while they come in: memory does not grow with them."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Executor

from postroom.ops.spool import Incoming, Spool
from postroom.ports.arriving import RawFile


class RawFiles:
    """ports.RawStore over the spool; `threads` do what blocks."""

    def __init__(self, spool: Spool, threads: Executor) -> None:
        self._spool = spool
        self._threads = threads

    async def keep(self, pieces: AsyncIterator[bytes]) -> RawFile:
        """Put them into the spool, durably; where the pieces end in an exception, nothing stays.

        Raises: StorageFull, StoreUnavailable, and what the pieces raise.
        """
        loop = asyncio.get_running_loop()
        incoming: Incoming = await loop.run_in_executor(self._threads, self._spool.incoming)
        try:
            async for piece in pieces:
                await loop.run_in_executor(self._threads, incoming.write, piece)
            sha256 = await loop.run_in_executor(self._threads, incoming.keep)
            return RawFile(sha256, incoming.size_bytes)
        finally:
            await asyncio.shield(loop.run_in_executor(self._threads, incoming.drop))
