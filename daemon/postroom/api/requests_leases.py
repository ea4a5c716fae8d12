"""What may be asked about leases, consumers and streams."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, UnsetType, field

from postroom.api.requests import Asked, EventId, Mailbox, Name, Place
from postroom.core.eventtypes import UNLEASED, EventType


ConsumerName = Annotated[
    str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", examples=["agents", "crm.sync"])
]
# What is never leased is refused where it is asked for (api.routes.consumers).
Types = Annotated[
    list[EventType],
    Meta(
        min_length=1,
        max_length=100,
        extra_json_schema={"items": {"enum": sorted(set(EventType) - UNLEASED)}},
    ),
]
Fence = Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]
# CONTRACT §4: a lease lasts an hour at most; under a second nobody could use it.
Seconds = Annotated[float, Meta(ge=1, le=3600)]
Reason = Annotated[str, Meta(max_length=500)]


class Acquire(Asked, frozen=True):
    """Lease the threads that wait longest. Without mailbox_ids those of every mailbox."""

    consumer: ConsumerName = "default"
    mailbox_ids: Annotated[list[Mailbox], Meta(min_length=1, max_length=1000)] | UnsetType = UNSET
    types: Types | UnsetType = UNSET
    max_threads: Annotated[int, Meta(ge=1, le=100)] = 1
    max_events: Annotated[int, Meta(ge=1, le=100)] = 100
    wait_s: Annotated[float, Meta(ge=0, le=30)] = 0.0
    lease_s: Seconds = 60.0
    attempt_id: Name | UnsetType = UNSET


class Extend(Asked, frozen=True, kw_only=True):
    """Keep a lease for so long from now."""

    fence: Fence
    lease_s: Seconds = 60.0


class GiveBack(Asked, frozen=True, kw_only=True):
    """Give a lease back, not to be given out for delay_s; `failed` counts towards the ten that make its events dead."""

    fence: Fence
    delay_s: Annotated[float, Meta(ge=0, le=86_400)] = 0.0
    reason: Reason = ""
    failed: bool = False


class Complete(Asked, frozen=True, kw_only=True):
    """Acknowledge what the lease shows, or some of it, and hand in replies: jobs as POST /v1/jobs takes them."""

    fence: Fence
    ack: Literal["all"] | Annotated[list[EventId], Meta(max_length=100)] = "all"
    replies: Annotated[
        list[
            Annotated[
                Any,
                Meta(
                    extra_json_schema={"anyOf": [{"$ref": "#/components/schemas/JobRequest"}, {}]}
                ),
            ]
        ],
        Meta(max_length=100),
    ] = field(default_factory=list)


class CompleteItems(Asked, frozen=True, kw_only=True):
    """The same as it is read: each reply stays as it was sent."""

    fence: Fence
    ack: Literal["all"] | Annotated[list[EventId], Meta(max_length=100)] = "all"
    replies: Annotated[list[Raw], Meta(max_length=100)] = field(default_factory=list)


class MakeConsumer(Asked, frozen=True, kw_only=True):
    """A named reader, from the oldest event on or from now; of one that is there its types are widened."""

    name: ConsumerName
    types: Types | UnsetType = UNSET
    start: Literal["oldest", "now"] = "oldest"


class RetryEvent(Asked, frozen=True, kw_only=True):
    """For whom a dead event is made pending again."""

    consumer: ConsumerName


class StreamQuery(Asked, frozen=True):
    """From where on: a seq or an event id; without it, and without Last-Event-ID, from now."""

    after: Place | None = None


class ThreadQuery(Asked, frozen=True):
    """How many of the latest deliveries and events."""

    limit: Annotated[int, Meta(ge=1, le=500)] = 100
