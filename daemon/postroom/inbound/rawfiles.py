"""Raw bytes of large messages, in the spool while they come in: memory does not grow with them.

A piece costs one hop to a thread, and nothing else costs one: the file is made with the first and durable with the last.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final, ParamSpec, TypeVar

from postroom.ops.spool import Incoming, Spool
from postroom.ports.arriving import RawFile


P = ParamSpec("P")
T = TypeVar("T")


class RawFiles:
    """ports.RawStore over the spool; `threads` do what blocks."""

    def __init__(self, spool: Spool, threads: Executor) -> None:
        self._spool = spool
        self._threads = threads

    def incoming(self) -> "_Coming":
        """A message on its way in."""
        return _Coming(self._spool, self._threads)


class _Coming:
    """ports.RawIncoming: a file of the spool that is made when the first piece is there."""

    def __init__(self, spool: Spool, threads: Executor) -> None:
        self._spool = spool
        self._threads: Final = threads
        self._incoming: Incoming | None = None

    async def add(self, piece: bytes) -> None:
        """Append it. Raises: StorageFull, StoreUnavailable."""
        await self._in_thread(self._write, piece)

    async def keep(self, last: bytes) -> RawFile:
        """Append the last piece, and put all into the spool, durably. Raises: StorageFull, StoreUnavailable."""
        return await self._in_thread(self._finish, last)

    async def drop(self) -> None:
        """Leave nothing of what was not kept."""
        if self._incoming is not None:
            await asyncio.shield(self._in_thread(self._incoming.drop))

    def _write(self, piece: bytes) -> Incoming:
        if self._incoming is None:
            self._incoming = self._spool.incoming()
        self._incoming.write(piece)
        return self._incoming

    def _finish(self, last: bytes) -> RawFile:
        incoming = self._write(last)
        sha256 = incoming.keep()
        self._incoming = None
        return RawFile(sha256, incoming.size_bytes)

    def _in_thread(self, work: Callable[P, T], *given: P.args, **_: P.kwargs) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._threads, work, *given)
