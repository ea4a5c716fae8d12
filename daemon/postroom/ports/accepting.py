"""Values that acceptance hands to the outbox, and what it gets back."""

from dataclasses import dataclass

from postroom.core.body import Body
from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.job import Job, LeaseClaim
from postroom.core.reason import ReasonCode


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """A delivery to be. `number` was reserved; `thread_number` too, and is used where its thread does not exist yet.

    `thread_key` is what tells threads of one conversation_id apart: '' or, with individual copies, the folded address.
    `envelope_from` is the reverse-path with its token, None = the mailbox's address.
    """

    number: int
    recipient: str
    recipient_key: str
    domain: str
    message_id: str
    thread_number: int
    thread_key: str
    head: bytes
    envelope_from: str | None = None


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be, whole: what the unit needs and nothing it must compute.

    A key that we minted (`is_key_minted`) is kept as long as the job, any other for ever. `request_hash` leaves out attachment digests; in a merge it also
    leaves out recipients. `attachment_digests` are hex SHA-256 in the order of `job.attachments`, None = unreadable.
    `staged_refs` are the staged uploads that it uses. `answers` is the seq of the event that it replies to, `lease` the
    right to do so that it carries; `is_reply_to_ignored`: it goes to From, for Reply-To names somebody else.
    """

    number: int
    job: Job
    principal_uid: int
    trace_id: str
    idempotency_key: str
    key_hash: bytes
    is_key_minted: bool
    request_hash: bytes
    hash_version: int
    attachment_digests: tuple[str | None, ...]
    body: Body
    serializer_version: int
    deliveries: tuple[NewDelivery, ...]
    staged_refs: tuple[str, ...]
    due_at: Instant
    at: Instant
    answers: int | None = None
    lease: LeaseClaim | None = None
    is_reply_to_ignored: bool = False


@dataclass(frozen=True, slots=True)
class AcceptedDelivery:
    """What became of one new delivery: pending, or failed at once because its recipient is suppressed."""

    number: int
    state: DeliveryState
    reason_code: ReasonCode | None
    thread_number: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """Stored. In a merge `number` is the first job under the key, `already` counts recipients it had before."""

    number: int
    deliveries: tuple[AcceptedDelivery, ...]
    already: int


@dataclass(frozen=True, slots=True)
class Replayed:
    """The key is known and so is this very job. `is_expired`: only its tombstone is left."""

    number: int
    is_expired: bool


@dataclass(frozen=True, slots=True)
class KeyReused:
    """The key is known, with another job."""

    number: int


@dataclass(frozen=True, slots=True)
class JobExpired:
    """A merge would add a recipient to a job of which only the tombstone is left."""

    number: int


@dataclass(frozen=True, slots=True)
class UnknownThread:
    """`thread_id` names no thread of this mailbox."""


@dataclass(frozen=True, slots=True)
class StagedGone:
    """A staged upload or spool file was removed meanwhile: stage again."""

    sha256: str


@dataclass(frozen=True, slots=True)
class AlreadyReplied:
    """The event was answered by this job."""

    seq: int
    job_number: int


@dataclass(frozen=True, slots=True)
class LeaseLost:
    """The lease is not live, or the fence is not its own; or the thread is leased and the job carries no such lease."""


AcceptResult = (
    Accepted
    | Replayed
    | KeyReused
    | JobExpired
    | UnknownThread
    | StagedGone
    | AlreadyReplied
    | LeaseLost
)


@dataclass(frozen=True, slots=True)
class KnownKey:
    """What a key stands for, as far as a reader knows. `attachments` as stored: spec and digest of each."""

    job_number: int
    request_hash: bytes
    hash_version: int
    attachments: tuple[tuple[dict[str, object], str | None], ...]
    is_expired: bool
