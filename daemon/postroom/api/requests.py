"""What may be asked: the bodies and query parameters of every call, checked and typed before a handler sees them.

Nothing unknown is accepted and ignored. The fields of a job are rendered from here into the OpenAPI document; its
checks, which find all faults at once, are in core.
"""

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.ids import Kind
from postroom.core.job import Copies, OnDuplicate
from postroom.core.mailbox import AutoSubmitted
from postroom.core.reason import ReasonCode
from postroom.core.status import JobStatus
from postroom.ports.desk import Verdict


def _id(kind: Kind) -> Meta:
    return Meta(pattern=f"^{kind}_[0-7][0-9a-v]{{12}}$", examples=[f"{kind}_{'0' * 12}1"])


JobId = Annotated[str, _id(Kind.JOB)]
DeliveryId = Annotated[str, _id(Kind.DELIVERY)]
ThreadId = Annotated[str, _id(Kind.THREAD)]
LeaseId = Annotated[str, _id(Kind.LEASE)]
EventId = Annotated[str, _id(Kind.EVENT)]
AttachmentRef = Annotated[str, _id(Kind.ATTACHMENT)]
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Name = Annotated[str, Meta(min_length=1, max_length=256)]
Mailbox = Annotated[str, Meta(min_length=1, max_length=128)]
Addr = Annotated[str, Meta(min_length=3, max_length=320)]
Since = Annotated[
    str,
    Meta(
        min_length=2,
        max_length=40,
        description="An RFC 3339 instant, or how long ago: a number and s, m, h or d.",
        examples=["24h", "2026-11-30T07:00:00Z"],
    ),
]
Place = Annotated[
    str,
    Meta(
        pattern="^([0-9]{1,19}|evt_[0-7][0-9a-v]{12})$",
        examples=["4711", "evt_0000000000001"],
    ),
]
Cursor = Annotated[str, Meta(pattern="^c[0-7][0-9a-v]{12}$", description="Opaque: `next_cursor`.")]
Limit = Annotated[int, Meta(ge=1, le=500)]

# Rows a list gives when nothing is said: a screenful for people, few round trips for programs.
PAGE = 100


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """A request that takes nothing."""


class JobWait(Asked, frozen=True):
    """How to read a job: at once, or when it is settled."""

    wait: Literal["settled"] | None = None
    timeout_s: Annotated[float, Meta(ge=0, le=60)] = 20.0


class JobQuery(Asked, frozen=True):
    """Which jobs."""

    mailbox_id: Mailbox | None = None
    status: JobStatus | None = None
    thread_id: ThreadId | None = None
    recipient: Addr | None = None
    trace_id: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    conversation_id: Name | None = None
    idempotency_key: Name | None = None
    since: Since | None = None
    cursor: Cursor | None = None
    limit: Limit = PAGE


class DeliveryQuery(Asked, frozen=True):
    """Which deliveries."""

    mailbox_id: Mailbox | None = None
    state: DeliveryState | None = None
    reason_code: ReasonCode | None = None
    domain: Addr | None = None
    hold_reason: HoldReason | None = None
    since: Since | None = None
    cursor: Cursor | None = None
    limit: Limit = PAGE


class WaitingQuery(Asked, frozen=True):
    """Of which mailbox, relay and lane; all of them where nothing is said."""

    mailbox_id: Mailbox | None = None
    relay: Mailbox | None = None
    priority: Literal["high", "standard", "bulk"] | None = None


class DeadQuery(Asked, frozen=True):
    """Since when. Each of the two lists has its own cursor: with one of them only that list goes on."""

    since: Since | None = None
    cursor: Cursor | None = None
    events_cursor: Cursor | None = None
    limit: Limit = PAGE


class EventQuery(Asked, frozen=True):
    """From where on: a seq or an event id."""

    after: Place = "0"
    limit: Limit = PAGE


class SuppressionQuery(Asked, frozen=True):
    """Which suppressions."""

    mailbox_id: Mailbox | None = None
    cursor: Cursor | None = None
    limit: Limit = PAGE


class SuppressionName(Asked, frozen=True):
    """One suppression; without mailbox_id that which holds for all mailboxes."""

    address: Addr
    mailbox_id: Mailbox | None = None


class StageQuery(Asked, frozen=True):
    """The name under which the recipient sees the file."""

    filename: Annotated[str, Meta(min_length=1, max_length=1024)]


class Reschedule(Asked, frozen=True):
    """When to send."""

    send_at: Moment


class Resolve(Asked, frozen=True):
    """How a person settles doubt."""

    verdict: Verdict = field(name="as")


class Pause(Asked, frozen=True):
    """Why a mailbox is paused."""

    reason: Annotated[str, Meta(max_length=200)] | None = None


class Suppress(Asked, frozen=True):
    """An address to write to no more; without mailbox_id from no mailbox."""

    address: Addr
    mailbox_id: Mailbox | None = None
    reason: Annotated[str, Meta(max_length=200)] | None = None


class BulkFilter(Asked, frozen=True):
    """Which deliveries; at least one of them, so that nobody acts on all by a slip."""

    mailbox_id: Mailbox | None = None
    state: DeliveryState | None = None
    reason_code: ReasonCode | None = None
    domain: Addr | None = None
    hold_reason: HoldReason | None = None
    since: Since | None = None


class Bulk(Asked, frozen=True):
    """Act on all that a filter meets, or tell how many those are."""

    filter: BulkFilter
    dry_run: bool = False
    limit: Annotated[int, Meta(ge=1, le=100_000)] = 1000


class Reload(Asked, frozen=True):
    """Read the settings again, or only say what that would change."""

    dry_run: bool = False


class BulkResolve(Bulk, frozen=True, kw_only=True):
    """Settle doubt in bulk."""

    verdict: Verdict = field(name="as")


class NamedAddress(Asked, frozen=True):
    """An addr-spec and the name shown beside it."""

    address: Addr
    name: Annotated[str, Meta(max_length=256)] = ""


Party = Addr | NamedAddress


class AttachmentRequest(Asked, frozen=True):
    """A staged upload (`ref`) or a file on this machine (`path`): one of the two."""

    ref: AttachmentRef | UnsetType = UNSET
    path: Annotated[str, Meta(min_length=1, max_length=4096)] | UnsetType = UNSET
    pin: bool = False
    filename: Annotated[str, Meta(min_length=1, max_length=255)] | UnsetType = UNSET
    content_type: Annotated[str, Meta(min_length=3, max_length=255)] | UnsetType = UNSET
    inline: bool = False
    content_id: Annotated[str, Meta(min_length=1, max_length=255)] | UnsetType = UNSET


class ConditionRequest(Asked, frozen=True):
    """What must still be so at the job's first mark, else it is skipped: one of them, or both."""

    thread_version: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    no_inbound_since: EventId | UnsetType = UNSET


class LeaseName(Asked, frozen=True):
    """A lease that the caller holds."""

    id: LeaseId
    fence: Annotated[int, Meta(ge=0)]


class JobRequest(Asked, frozen=True):
    """One email to one or more recipients. With in_reply_to_event, mailbox_id, subject and to may be left out."""

    mailbox_id: Mailbox | UnsetType = UNSET
    subject: Annotated[str, Meta(max_length=1000)] | UnsetType = UNSET
    to: list[Party] = []
    cc: list[Party] = []
    bcc: list[Party] = []
    text: Annotated[str, Meta(max_length=524_288)] | UnsetType = UNSET
    html: Annotated[str, Meta(max_length=524_288)] | UnsetType = UNSET
    copies: Copies | UnsetType = UNSET
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=50)] = []
    headers: dict[str, str] = {}
    reply_to: list[Party] = []
    metadata: dict[str, str] = {}
    priority: Literal["high", "standard", "bulk"] = "standard"
    send_at: Moment | UnsetType = UNSET
    not_after: Moment | UnsetType = UNSET
    conversation_id: Name | UnsetType = UNSET
    thread_id: ThreadId | UnsetType = UNSET
    trace_id: Annotated[str, Meta(min_length=1, max_length=128)] | UnsetType = UNSET
    idempotency_key: Name | UnsetType = UNSET
    on_duplicate: OnDuplicate = OnDuplicate.REPLAY
    auto_submitted: AutoSubmitted | UnsetType = UNSET
    condition: ConditionRequest | UnsetType = field(name="if", default=UNSET)
    in_reply_to_event: EventId | UnsetType = UNSET
    lease: LeaseName | UnsetType = UNSET
    allow_new_recipients: bool = False


# Anything is taken, because what is no job is refused in its own place.
_ITEM: Final = {"anyOf": [{"$ref": "#/components/schemas/JobRequest"}, {}]}


class BatchRequest(Asked, frozen=True):
    """Jobs that are accepted or refused each on its own."""

    jobs: Annotated[list[Annotated[Any, Meta(extra_json_schema=_ITEM)]], Meta(max_length=1000)]


class BatchItems(Asked, frozen=True):
    """The same as it is read: each item stays as it was sent, so that one with faults spoils no other."""

    jobs: list[Raw]
