"""The daemon's other parts as the API sees them, in memory: enough to ask every call and to see what it did."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane, Mailbox
from postroom.core.record import JobRecord, StagedRecord
from postroom.ports.backups import Backup, BackupUnderWay
from postroom.ports.figures import Stats
from postroom.ports.loop import (
    BreakerView,
    CheckLine,
    CheckVerdict,
    Explanation,
    GateReport,
    GateVerdict,
    QueueView,
    Readiness,
    SlowedView,
)
from postroom.ports.reloading import Draining, NotReloaded, Reloaded
from postroom.ports.uploads import Upload, UploadTooLarge
from support.api_outbox import FakeOutbox
from support.figures import stats_at
from support.records import NOW


DAY = 86_400_000_000


class FakeUploads:
    """A spool in memory."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[StagedRecord, bytes]] = {}
        self.broken: list[BaseException] = []
        self.spool: dict[str, bytes] = {}

    async def stage(
        self, upload: Upload, content: AsyncIterator[bytes]
    ) -> StagedRecord | UploadTooLarge:
        data = bytearray()
        try:
            async for piece in content:
                data += piece
                if upload.limit_bytes and len(data) > upload.limit_bytes:
                    return UploadTooLarge(upload.limit_bytes)
        except BaseException as fault:
            self.broken.append(fault)
            raise
        ref = encode_id(Kind.ATTACHMENT, len(self.files) + 1)
        record = StagedRecord(
            ref,
            hashlib.sha256(data).hexdigest(),
            len(data),
            upload.filename,
            upload.content_type,
            NOW,
        )
        self.files[ref] = (record, bytes(data))
        return record

    async def find_staged(self, ref: str) -> StagedRecord | None:
        found = self.files.get(ref)
        return None if found is None else found[0]

    async def open_staged(self, staged: StagedRecord) -> AsyncIterator[bytes] | None:
        return pieces(self.files[staged.ref][1])

    async def open_file(self, sha256: str) -> AsyncIterator[bytes] | None:
        return pieces(self.spool[sha256]) if sha256 in self.spool else None


async def pieces(content: bytes, size: int = 65536) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


@dataclass
class FakeLoop:
    """A loop that explains one gate and lets jobs settle when a test says so."""

    outbox: FakeOutbox
    settle: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    breakers: tuple[BreakerView, BreakerView] = (
        BreakerView("closed", None, None),
        BreakerView("closed", None, None),
    )
    slowed: tuple[SlowedView, ...] = ()
    queues: tuple[QueueView, ...] = ()

    async def explain(self, number: int) -> Explanation | None:
        found = await self.outbox.find_delivery(number)
        if found is None:
            return None
        later = Instant(NOW + DAY)
        return Explanation(
            found.state,
            (
                GateReport("hold", GateVerdict.PASSED, None, None, None),
                GateReport("daily_cap", GateVerdict.BLOCKED, "500", "500", later),
            ),
            later,
        )

    def find_queues(self) -> tuple[QueueView, ...]:
        return self.queues

    async def wait_settled(self, number: int, timeout_s: float) -> JobRecord | None:
        self.waiting.set()
        try:
            async with asyncio.timeout(timeout_s):
                await self.settle.wait()
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return await self.outbox.find_job(number)

    async def check(self, mailbox_id: str) -> tuple[CheckLine, ...]:
        return (
            CheckLine("dns", CheckVerdict.OK, "smtp.example.net has 1 address", ""),
            CheckLine("connect", CheckVerdict.FAILED, "refused", "Check host and port."),
        )

    def find_breakers(self, mailbox_id: str) -> tuple[BreakerView, BreakerView] | None:
        return self.breakers

    def find_slowed(self, mailbox_id: str) -> tuple[SlowedView, ...]:
        return self.slowed


class FakeSignals:
    """A daemon with one mailbox and some mail."""

    def __init__(self) -> None:
        self.ready = Readiness(is_ready=True, detail="")
        self.fault: Exception | None = None
        self.more_depth: dict[tuple[str, Lane, DeliveryState], int] = {}
        self.may_tell = asyncio.Event()
        self.may_tell.set()
        self.asked = 0  # for metrics

    async def stats(self) -> Stats:
        found = stats_at(NOW)
        return replace(found, depth={**found.depth, **self.more_depth})

    async def metrics_text(self) -> str:
        if self.fault is not None:
            raise self.fault
        self.asked += 1
        await self.may_tell.wait()
        return "# TYPE postroom_queue_depth gauge\npostroom_queue_depth 2\n"

    async def readiness(self) -> Readiness:
        return self.ready


@dataclass
class FakeMessages:
    """The bytes of messages by delivery."""

    content: dict[int, bytes] = field(default_factory=dict)

    async def find_message(self, number: int) -> AsyncIterator[bytes] | None:
        found = self.content.get(number)
        return None if found is None else pieces(found)


SUPPORT = Mailbox("support", "support@example.com", "Support", "main")


@dataclass
class FakeBackups:
    """Hands out these pieces; an exception among them is raised in its place."""

    content: list[bytes | Exception] = field(default_factory=lambda: [b"tar, ", b"the rest"])
    fault: Exception | None = None
    is_busy: bool = False
    closed: int = 0

    async def begin(self, uid: int) -> Backup | BackupUnderWay:
        if self.fault is not None:
            raise self.fault
        if self.is_busy:
            return BackupUnderWay()
        self.is_busy = True
        return Backup(4711, self._pieces(), self._close)

    async def _pieces(self) -> AsyncIterator[bytes]:
        for piece in self.content:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def _close(self) -> None:
        self.is_busy = False
        self.closed += 1


@dataclass
class FakeReloads:
    """Answers so, and remembers who asked for what."""

    answer: Reloaded | NotReloaded | Draining | Exception = field(
        default_factory=lambda: Reloaded((), (), (), 1)
    )
    asked: list[tuple[str, bool]] = field(default_factory=list)

    async def reload(self, by: str, *, is_dry_run: bool) -> Reloaded | NotReloaded | Draining:
        self.asked.append((by, is_dry_run))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class FakeTrust:
    """The clock is doubted until somebody confirms it, if it is."""

    is_odd: bool = False

    def is_doubted(self) -> bool:
        return self.is_odd

    def confirm(self) -> None:
        self.is_odd = False
