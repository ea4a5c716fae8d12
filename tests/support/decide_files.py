"""A spool in a directory, staging over it, and a desk that remembers staged uploads."""

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import cast

from postroom.core.record import StagedRecord
from postroom.ops.spool import Spool
from postroom.ops.threads import FileThreads
from postroom.outbound.compose import SpoolComposer
from postroom.outbound.staging import SpoolStaging, StagingParts
from postroom.ports.desk import Actor, Admin, Reader
from support.clock import FakeClock


CONTENT = b"day,sum\n1,100\n"


@dataclass
class Desk:
    staged: dict[str, tuple[StagedRecord, int]] = field(default_factory=dict)

    async def stage(self, staged: StagedRecord, principal_uid: int) -> None:
        self.staged[staged.ref] = staged, principal_uid

    async def find_staged(self, ref: str) -> StagedRecord | None:
        found = self.staged.get(ref)
        return found and found[0]


class Counting:
    def __init__(self) -> None:
        self._next = 0

    def token(self, bits: int) -> int:
        self._next += 1
        return self._next

    def fraction(self) -> float:
        return 0.5


@dataclass
class Files:
    clock: FakeClock
    spool: Spool
    executor: ThreadPoolExecutor
    desk: Desk
    staging: SpoolStaging
    composer: SpoolComposer
    root: Path

    @property
    def roots(self) -> tuple[str, ...]:
        return (str(self.root),)

    def spooled(self) -> list[Path]:
        return sorted(
            one for one in self.spool.path("0" * 64).parent.parent.rglob("*") if one.is_file()
        )


@contextmanager
def files_in(directory: Path, all_files: timedelta = timedelta(seconds=60)) -> Iterator[Files]:
    clock, desk = FakeClock(), Desk()
    root = directory / "reports"
    root.mkdir()
    spool = Spool(directory, clock, lambda: None)
    spool.open()
    with ThreadPoolExecutor(2) as executor:
        parts = StagingParts(
            spool,
            FileThreads(executor, executor),
            cast(Reader, desk),
            cast(Admin, desk),
            clock,
            Counting(),
            all_files,
        )
        composer = SpoolComposer(spool, FileThreads(executor, executor))
        yield Files(clock, spool, executor, desk, SpoolStaging(parts), composer, root)


async def pieces_of(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


ACTOR = Actor(1000)
