"""New jobs for the store's tests, with everything that a test does not care about filled in."""

import hashlib
from dataclasses import replace

from postroom.core.body import Body
from postroom.core.instant import Instant
from postroom.core.job import Address, Attachment, Copies, Field, Job, OnDuplicate, Recipient
from postroom.core.mailbox import Lane
from postroom.core.record import DeliveryRecord
from postroom.core.reply import SmtpReply
from postroom.ports.accepting import Accepted, NewDelivery, NewJob
from postroom.ports.looping import Outcome, Start, Started
from postroom.ports.outbox import Intake
from postroom.store.sqlite.outbox import Outbox
from support.store_host import NOON


def new_job(
    intake: Intake,
    *recipients: str,
    mailbox_id: str = "support",
    lane: Lane = Lane.STANDARD,
    key: str | None = None,
    on_duplicate: OnDuplicate = OnDuplicate.REPLAY,
    copies: Copies = Copies.CONVERSATION,
    conversation_id: str | None = None,
    thread_number: int | None = None,
    not_after: Instant | None = None,
    due_at: Instant = NOON,
    at: Instant = NOON,
    text: str = "Hello",
    request: str = "the same",
    body: Body | None = None,
    attachments: tuple[Attachment, ...] = (),
    digests: tuple[str | None, ...] = (),
    staged_refs: tuple[str, ...] = (),
    metadata: tuple[tuple[str, str], ...] = (),
    trace_id: str = "trace-1",
) -> NewJob:
    """A job from uid 1000 to these recipients (one by default)."""
    to = recipients or ("alice@example.com",)
    first_job, first_delivery, first_thread = intake.reserve(1, len(to), len(to))
    is_individual = copies is Copies.INDIVIDUAL
    job = Job(
        mailbox_id=mailbox_id,
        recipients=tuple(Recipient(Address(one), Field.TO) for one in to),
        duplicates_dropped=0,
        subject="Report",
        text=text,
        html=None,
        copies=copies,
        attachments=attachments,
        headers=(),
        reply_to=(),
        metadata=metadata,
        lane=lane,
        send_at=None,
        not_after=not_after,
        conversation_id=conversation_id,
        thread_number=thread_number,
        trace_id=None,
        idempotency_key=key,
        on_duplicate=on_duplicate,
        auto_submitted=None,
        spec={
            "mailbox_id": mailbox_id,
            "to": list(to),
            "subject": "Report",
            "text": text,
            "attachments": [{"path": f"/srv/{n}"} for n in range(len(attachments))],
        },
    )
    deliveries = tuple(
        NewDelivery(
            number=first_delivery + n,
            recipient=one,
            recipient_key=one.casefold(),
            domain=one.rpartition("@")[2],
            message_id=f"<{first_delivery + (n if is_individual else 0)}@example.com>",
            thread_number=first_thread + (n if is_individual else 0),
            thread_key=one.casefold() if is_individual else "",
            head=b"Subject: Report\r\n",
        )
        for n, one in enumerate(to)
    )
    content = f"Content-Type: text/plain\r\n\r\n{text}\r\n".encode()
    return NewJob(
        number=first_job,
        job=job,
        principal_uid=1000,
        trace_id=trace_id,
        idempotency_key=key or f"minted-{first_job}",
        key_hash=hashlib.sha256((key or f"minted-{first_job}").encode()).digest(),
        is_key_minted=key is None,
        request_hash=request.encode(),
        hash_version=1,
        attachment_digests=digests,
        body=body or Body((content,), len(content)),
        serializer_version=1,
        deliveries=deliveries,
        staged_refs=staged_refs,
        due_at=due_at,
        at=at,
    )


def start_of(number: int, at: Instant = NOON) -> Start:
    """A start that counts nowhere."""
    return Start(number, "main", at, (), ())


_OUTCOME = Outcome(
    number=0,
    claim=0,
    after=None,  # type: ignore[arg-type]
    reason_code=None,
    at=NOON,
    stage=None,
    reply=None,
    due_at=None,
    counts_attempt=True,
    counts_series=True,
    is_deferral=False,
    withdraws_mark=False,
    relay_message_id=None,
    give_back=(),
    relay_breaker=None,
    mailbox_breaker=None,
    domain_pause=None,
)


def outcome_of(number: int, claim: int, after: object, **more: object) -> Outcome:
    """An attempt that reached the relay and ended so."""
    return replace(_OUTCOME, number=number, claim=claim, after=after, **more)  # type: ignore[arg-type]


BUSY = SmtpReply(450, "4.2.1", "mailbox busy", b"450 4.2.1 mailbox busy\r\n")


class Listener:
    def __init__(self) -> None:
        self.heard: list[object] = []

    def committed(self, changes: object) -> None:
        self.heard += changes  # type: ignore[arg-type]


async def under_way(outbox: Outbox, **more: object) -> Started:
    done = await outbox.intake.accept(new_job(outbox.intake, **more))  # type: ignore[arg-type]
    started = await outbox.loop.start(start_of(done.deliveries[0].number))  # type: ignore[union-attr]
    assert started is not None
    return started


async def seen(outbox: Outbox, number: int) -> DeliveryRecord:
    found = await outbox.reader.find_delivery(number)
    assert found is not None
    return found


async def accept(outbox: Outbox, *recipients: str, **more: object) -> Accepted:
    done = await outbox.intake.accept(new_job(outbox.intake, *recipients, **more))  # type: ignore[arg-type]
    assert isinstance(done, Accepted)
    return done
