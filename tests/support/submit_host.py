"""What a submitter is handed in tests: a spool and an intake in memory."""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from postroom.core.delivery import DeliveryState
from postroom.core.job import OnDuplicate, PathAttachment
from postroom.core.record import DeliveryRecord, JobRecord, StagedRecord
from postroom.core.replying import Answered
from postroom.ports.accepting import (
    Accepted,
    AcceptedDelivery,
    AcceptResult,
    JobExpired,
    KeyReused,
    KnownKey,
    NewDelivery,
    NewJob,
    Replayed,
)
from postroom.ports.staging import FileRefused, FilesSlow, KeptFile
from support.mail import NOW


@dataclass
class MemorySpool:
    """Files by path and by ref; what is in `slow` can not be read in time."""

    paths: dict[str, bytes] = field(default_factory=dict)
    staged: dict[str, StagedRecord] = field(default_factory=dict)
    kept: dict[str, bytes] = field(default_factory=dict)
    is_slow: bool = False
    keeps: int = 0
    reader_uid: int | None = None

    def stage(self, ref: str, content: bytes, filename: str, content_type: str) -> None:
        digest = hashlib.sha256(content).hexdigest()
        self.kept[digest] = content
        self.staged[ref] = StagedRecord(ref, digest, len(content), filename, content_type, NOW)

    async def find_staged(self, ref: str) -> StagedRecord | None:
        return self.staged.get(ref)

    async def keep_files(
        self,
        files: Sequence[PathAttachment],
        *,
        roots: Sequence[str],
        limit_bytes: int,
        reader_uid: int | None = None,
    ) -> tuple[KeptFile | FileRefused, ...] | FilesSlow:
        self.keeps += 1
        self.reader_uid = reader_uid
        return FilesSlow() if self.is_slow else tuple(self._keep(one, roots) for one in files)

    async def digest_files(
        self,
        files: Sequence[PathAttachment],
        *,
        roots: Sequence[str],
        limit_bytes: int,
        reader_uid: int | None = None,
    ) -> tuple[str | None, ...] | FilesSlow:
        if self.is_slow:
            return FilesSlow()
        found = [self._keep(one, roots) for one in files]
        return tuple(one.sha256 if isinstance(one, KeptFile) else None for one in found)

    async def keep_bytes(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        self.kept[digest] = content
        return digest

    def _keep(self, file: PathAttachment, roots: Sequence[str]) -> KeptFile | FileRefused:
        content = self.paths.get(file.path)
        if content is None or not any(file.path.startswith(f"{root}/") for root in roots):
            return FileRefused("There is no such file.")
        digest = hashlib.sha256(content).hexdigest()
        self.kept[digest] = content
        name = file.path.rpartition("/")[2]
        return KeptFile(digest, len(content), name, file.path if file.pin else None)


@dataclass
class MemoryIntake:
    """Keeps jobs as the store would: keys for ever, one row for each recipient of a merge.

    `refuses` are answers to give first, each once. `before_accept` runs before a job is judged. `chains` are the
    Message-IDs of threads by their number, or by name and thread key. `lookups` counts how often a key was looked for.
    """

    jobs: dict[int, NewJob] = field(default_factory=dict)
    added: dict[int, list[NewDelivery]] = field(default_factory=dict)
    keys: dict[tuple[str, bytes], int] = field(default_factory=dict)
    tombstones: set[int] = field(default_factory=set)
    suppressed: set[str] = field(default_factory=set)
    threads: set[int] = field(default_factory=set)
    refuses: list[AcceptResult] = field(default_factory=list)
    before_accept: Callable[[], Awaitable[None]] | None = None
    events: dict[int, Answered] = field(default_factory=dict)
    chains: dict[int | tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    numbers: int = 1
    lookups: int = 0

    def reserve(self, jobs: int, deliveries: int, threads: int) -> tuple[int, int, int]:
        first = self.numbers
        self.numbers += jobs + deliveries + threads
        return first, first + jobs, first + jobs + deliveries

    async def find_key(self, mailbox_id: str, key_hash: bytes) -> KnownKey | None:
        self.lookups += 1
        number = self.keys.get((mailbox_id, key_hash))
        if number is None:
            return None
        job = self.jobs[number]
        is_expired = number in self.tombstones
        given = job.job.spec.get("attachments") or []
        assert isinstance(given, list)
        attachments = tuple(zip(given, job.attachment_digests, strict=True))
        return KnownKey(
            number,
            job.request_hash,
            job.hash_version,
            () if is_expired else attachments,
            is_expired,
        )

    async def find_answered(self, seq: int) -> Answered | None:
        return self.events.get(seq)

    async def find_chain(self, thread_number: int) -> tuple[str, ...]:
        return self.chains.get(thread_number, ())

    async def find_chains(
        self, mailbox_id: str, conversation_id: str, thread_keys: Sequence[str]
    ) -> dict[str, tuple[str, ...]]:
        named = {key: (conversation_id, key) for key in thread_keys}
        return {key: self.chains[name] for key, name in named.items() if name in self.chains}

    async def has_thread(self, mailbox_id: str, number: int) -> bool:
        return number in self.threads

    async def accept(self, new: NewJob) -> AcceptResult:
        if self.before_accept is not None:
            await self.before_accept()
        if self.refuses:
            return self.refuses.pop(0)
        key = (new.job.mailbox_id, new.key_hash)
        known = self.keys.get(key)
        if known is not None:
            return self._again(known, new)
        self.jobs[new.number] = new
        self.added[new.number] = list(new.deliveries)
        if key is not None:
            self.keys[key] = new.number
        return Accepted(new.number, tuple(map(self._stored, new.deliveries)), 0)

    async def find_job(self, number: int) -> JobRecord | None:
        job = self.jobs.get(number)
        if job is None:
            return None
        return JobRecord(
            number,
            job.job.mailbox_id,
            job.at,
            job.trace_id,
            job.idempotency_key,
            job.job.conversation_id,
            job.job.lane,
            job.job.copies,
            job.job.spec,
            tuple(_record(number, one) for one in self.added[number]),
        )

    def _again(self, known: int, new: NewJob) -> AcceptResult:
        if self.jobs[known].request_hash != new.request_hash:
            return KeyReused(known)
        if new.job.on_duplicate is OnDuplicate.REPLAY:
            return Replayed(known, known in self.tombstones)
        had = {one.recipient_key for one in self.added[known]}
        fresh = [one for one in new.deliveries if one.recipient_key not in had]
        if fresh and known in self.tombstones:
            return JobExpired(known)
        self.added[known] += fresh
        return Accepted(known, tuple(map(self._stored, fresh)), len(new.deliveries) - len(fresh))

    def _stored(self, new: NewDelivery) -> AcceptedDelivery:
        state = (
            DeliveryState.FAILED if new.recipient_key in self.suppressed else DeliveryState.PENDING
        )
        return AcceptedDelivery(new.number, state, None, new.thread_number)


def _record(job_number: int, new: NewDelivery) -> DeliveryRecord:
    nothing = {
        name: None
        for name in DeliveryRecord.__slots__
        if name not in {"number", "job_number", "recipient", "recipient_key", "history"}
    }
    return DeliveryRecord(
        number=new.number,
        job_number=job_number,
        recipient=new.recipient,
        recipient_key=new.recipient_key,
        **nothing,
    )  # type: ignore[arg-type]
