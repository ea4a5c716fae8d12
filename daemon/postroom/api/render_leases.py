"""Leases, consumers and threads in the shapes of the contract."""

from collections.abc import Iterable

from postroom.api import shapes_leases as shapes
from postroom.api.parsing import write_cursor
from postroom.api.render import render_delivery, render_event
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import format_instant
from postroom.core.record import DeliveryRecord, Page, ThreadRecord
from postroom.ports.leasing import ConsumerRecord, DeadEvent, Lease


def render_lease(lease: Lease, log_id: str) -> shapes.LeaseWritten:
    """A lease as its holder sees it."""
    thread = lease.thread
    return shapes.LeaseWritten(
        id=encode_id(Kind.LEASE, lease.number),
        fence=lease.fence,
        thread=shapes.LeasedThread(
            id=encode_id(Kind.THREAD, thread.number),
            version=thread.version,
            mailbox_id=thread.mailbox_id,
            conversation_id=thread.conversation_id,
            metadata=thread.metadata,
        ),
        expires_at=format_instant(lease.expires_at),
        receive_count=lease.receive_count,
        more=lease.has_more,
        events=[render_event(one, log_id) for one in lease.events],
    )


def render_consumer(record: ConsumerRecord) -> shapes.Consumer:
    """A consumer as it stands."""
    return shapes.Consumer(
        name=record.name,
        types=list(record.types),
        created_at=format_instant(record.created_at),
        pending=record.pending,
        dead=record.dead,
        leased=record.leased,
    )


def render_thread(record: ThreadRecord, log_id: str) -> shapes.ThreadWritten:
    """A conversation."""
    return shapes.ThreadWritten(
        id=encode_id(Kind.THREAD, record.number),
        version=record.version,
        mailbox_id=record.mailbox_id,
        conversation_id=record.conversation_id,
        metadata=record.metadata,
        created_at=format_instant(record.created_at),
        deliveries=[render_delivery(one) for one in record.deliveries],
        events=[render_event(one, log_id) for one in record.events],
        whole=record.is_whole,
        held=bool(record.holds),
        held_at=format_instant(record.holds[0].held_at) if record.holds else None,
        holds=[
            shapes.Hold(
                scope=one.scope,
                name=one.name,
                evidence=one.evidence,
                event_id=encode_id(Kind.EVENT, one.event_seq),
                held_at=format_instant(one.held_at),
            )
            for one in record.holds
        ],
    )


def render_dead(
    deliveries: Page[DeliveryRecord], events: Page[DeadEvent], log_id: str
) -> shapes.DeadLettersWritten:
    """Both lists of what ended badly."""
    return shapes.DeadLettersWritten(
        items=[render_delivery(one) for one in deliveries.items],
        next_cursor=write_cursor(deliveries.next_cursor),
        events=list(_dead_events(events.items, log_id)),
        next_events_cursor=write_cursor(events.next_cursor),
    )


def _dead_events(items: Iterable[DeadEvent], log_id: str) -> Iterable[shapes.DeadEventWritten]:
    for one in items:
        yield shapes.DeadEventWritten(
            event=render_event(one.event, log_id),
            dead_for=[
                shapes.DeadFor(
                    consumer=who.consumer,
                    dead_at=format_instant(who.dead_at),
                    receive_count=who.receive_count,
                )
                for who in one.dead_for
            ],
        )
