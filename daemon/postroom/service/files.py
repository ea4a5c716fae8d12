"""The files of the daemon: the spool, and the threads that read and write them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from postroom.ops.spool import Spool
from postroom.ops.threads import FileThreads
from postroom.ports.host import Clock
from postroom.store.sqlite.space import Space


_THREADS: Final = 4  # two cores, and disks that wait


class Files:
    """The spool and its threads. Until `opened`, the spool only answers what it has."""

    def __init__(self, state_dir: Path, clock: Clock) -> None:
        self._space: Space | None = None
        self.spool = Spool(state_dir, clock, self._check_room)
        self.threads = FileThreads(
            files=ThreadPoolExecutor(_THREADS, thread_name_prefix="files"),
            texts=ThreadPoolExecutor(1, thread_name_prefix="texts"),
        )
        self.mails = ThreadPoolExecutor(_THREADS, thread_name_prefix="mails")

    @contextmanager
    def opened(self, space: Space) -> Iterator[None]:
        """Ready for files until the end of the block, as long as there is space."""
        self._space = space
        self.spool.open()
        try:
            yield
        finally:
            for executor in (self.threads.files, self.threads.texts, self.mails):
                executor.shutdown(wait=False, cancel_futures=True)

    def _check_room(self) -> None:
        if self._space is not None:
            self._space.check()
