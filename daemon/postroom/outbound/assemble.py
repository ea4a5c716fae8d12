"""A checked job becomes what the store keeps: numbers, identities, heads and the body."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from postroom.core.ancestry import Ancestry
from postroom.core.body import Body, Encoding, FileSegment, Segment
from postroom.core.fingerprint import HASH_VERSION, key_hash, request_hash
from postroom.core.ids import Kind, base32, encode_id
from postroom.core.inaddress import reply_address, return_path
from postroom.core.instant import Instant, later
from postroom.core.job import Address, Copies, Job
from postroom.core.mailbox import Mailbox
from postroom.core.message import SERIALIZER_VERSION, compose, head, shared_head, thread_lines
from postroom.core.token import Key
from postroom.outbound.gather import Gathered
from postroom.ports.accepting import NewDelivery, NewJob
from postroom.ports.host import Entropy
from postroom.ports.outbox import Intake
from postroom.ports.staging import Staging


# What is larger lies in a file: rows of the store stay small (PERFORMANCE §design 5).
SPOOL_OVER_BYTES: Final = 65_536

# 100 bits: nobody guesses a Message-ID, nor meets one again.
_ID_BITS: Final = 100
_ID_DIGITS: Final = 20


@dataclass(frozen=True, slots=True)
class Caller:
    """Who gives a job, and when."""

    principal_uid: int
    at: Instant


@dataclass(frozen=True, slots=True)
class Identity:
    """What a new job is known by: numbers that nobody else gets, Message-IDs, its trace and its key.

    There is one Message-ID and one thread for a conversation, else one for each recipient. `is_key_minted`: the
    caller left the key to us.
    """

    number: int
    first_delivery: int
    first_thread: int
    message_ids: tuple[str, ...]
    trace_id: str
    idempotency_key: str
    is_key_minted: bool


@dataclass(frozen=True, slots=True)
class Signing:
    """How tokens are made: with the newest key, valid for so long from acceptance on."""

    key: Key
    expiry: timedelta


@dataclass(frozen=True, slots=True)
class Order:
    """A job with all that its mailbox and its conversation add to it.

    `ancestries` are by thread key (see NewDelivery), or under '' for all. Without `signing` answers come back by
    headers alone.
    """

    job: Job
    mailbox: Mailbox
    signing: Signing | None = None
    ancestries: Mapping[str, Ancestry] = field(default_factory=dict)
    is_reply_to_ignored: bool = False

    def ancestry(self, thread_key: str) -> Ancestry:
        """What a delivery of that thread follows."""
        return self.ancestries.get(thread_key) or self.ancestries.get("") or Ancestry()


@dataclass(frozen=True, slots=True)
class _WayBack:
    reply_to: Address | None = None
    envelope_from: str | None = None


def identify(job: Job, mailbox: Mailbox, intake: Intake, entropy: Entropy) -> Identity:
    """A new identity for the job, with the names that it brings."""
    copies = len(job.recipients) if job.copies is Copies.INDIVIDUAL else 1
    number, delivery, thread = intake.reserve(1, len(job.recipients), copies)
    domain = mailbox.address.rpartition("@")[2]
    ids = [f"<{_token(entropy)}@{domain}>" for _ in range(copies)]
    return Identity(
        number=number,
        first_delivery=delivery,
        first_thread=thread,
        message_ids=tuple(ids),
        trace_id=job.trace_id or f"{entropy.token(128):032x}",
        idempotency_key=job.idempotency_key or f"auto-{_token(entropy)}",
        is_key_minted=job.idempotency_key is None,
    )


async def make_body(job: Job, gathered: Gathered, number: int, staging: Staging) -> Body:
    """The body, large texts already in the spool. Raises: StoreUnavailable, StorageFull."""
    body = compose(job, gathered.files, base32(number, 13))
    if all(isinstance(one, FileSegment) or len(one) <= SPOOL_OVER_BYTES for one in body.segments):
        return body
    segments = [await _spooled(one, staging) for one in body.segments]
    return Body(tuple(segments), body.size_bytes)


def make_job(
    order: Order, gathered: Gathered, body: Body, caller: Caller, identity: Identity
) -> NewJob:
    """The job as the store takes it. Where nothing was gathered, its attachments are taken as unreadable."""
    job = order.job
    digests = tuple(one.sha256 for one in gathered.files) or (None,) * len(job.attachments)
    return NewJob(
        number=identity.number,
        job=job,
        principal_uid=caller.principal_uid,
        trace_id=identity.trace_id,
        idempotency_key=identity.idempotency_key,
        key_hash=key_hash(identity.idempotency_key),
        is_key_minted=identity.is_key_minted,
        request_hash=request_hash(job, job.on_duplicate),
        hash_version=HASH_VERSION,
        attachment_digests=digests,
        body=body,
        serializer_version=SERIALIZER_VERSION,
        deliveries=_deliveries(order, identity, caller.at),
        staged_refs=gathered.staged_refs,
        due_at=job.send_at or caller.at,
        at=caller.at,
        answers=job.answers,
        lease=job.lease,
        is_reply_to_ignored=order.is_reply_to_ignored,
    )


def _deliveries(order: Order, identity: Identity, at: Instant) -> tuple[NewDelivery, ...]:
    """One for each recipient. A mailbox that diverts sends them elsewhere, under the key of whom the caller named."""
    job, mailbox = order.job, order.mailbox
    shared = shared_head(job, mailbox)
    is_personal = job.copies is Copies.INDIVIDUAL
    made = []
    for index, recipient in enumerate(job.recipients):
        named = recipient.address
        goes_to = named if mailbox.divert_to is None else Address(mailbox.divert_to)
        own = index if is_personal else 0
        number = identity.first_delivery + index
        thread_key = named.key if is_personal else ""
        back = _way_back(order, number, at)
        made.append(
            NewDelivery(
                number=number,
                recipient=goes_to.address,
                recipient_key=named.key,
                domain=goes_to.domain,
                message_id=identity.message_ids[own],
                thread_number=job.thread_number or identity.first_thread + own,
                thread_key=thread_key,
                head=head(
                    shared,
                    named,
                    message_id=identity.message_ids[own],
                    delivery_id=encode_id(Kind.DELIVERY, number),
                    diverted_to=mailbox.divert_to,
                    threading=thread_lines(order.ancestry(thread_key), back.reply_to),
                ),
                envelope_from=back.envelope_from,
            )
        )
    return tuple(made)


def _way_back(order: Order, number: int, at: Instant) -> _WayBack:
    """Where answers and reports about this delivery go; a Reply-To that the caller gave stays alone."""
    if order.signing is None:
        return _WayBack()
    mailbox, key = order.mailbox, order.signing.key
    until = later(at, order.signing.expiry)
    reply = None if order.job.reply_to else reply_address(mailbox, key, number, until)
    return _WayBack(
        None if reply is None else Address(reply, mailbox.display_name),
        return_path(mailbox, key, number, until),
    )


async def _spooled(segment: Segment, staging: Staging) -> Segment:
    if isinstance(segment, FileSegment) or len(segment) <= SPOOL_OVER_BYTES:
        return segment
    return FileSegment(await staging.keep_bytes(segment), len(segment), Encoding.NONE)


def _token(entropy: Entropy) -> str:
    return base32(entropy.token(_ID_BITS), _ID_DIGITS)
