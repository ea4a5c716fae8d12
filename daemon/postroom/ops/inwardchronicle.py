"""What the log says of the way in: the listener, mail, leases and events, conversations that are held."""

from collections.abc import Sequence
from datetime import timedelta

from postroom.core.ids import Kind, encode_id
from postroom.ops.logwords import LogEvent
from postroom.ops.saying import Saying, error_fields
from postroom.ports.arriving import Arrival, Published
from postroom.ports.changes import EventsDied, LeaseExpired, ThreadFreed, ThreadHeld


class InwardChronicle(Saying):
    """A method for each thing that happens there."""

    def listener_ready(self, addresses: Sequence[str], *, has_tls: bool) -> None:
        """Mail can come in."""
        self._say(LogEvent.LISTENER_READY, addresses=" ".join(addresses), has_tls=has_tls)

    def mail_received(
        self, number: int, arrival: Arrival, size_bytes: int, took: timedelta
    ) -> None:
        """A message is stored. `number` leads to its event."""
        mailbox_ids = dict.fromkeys(one.mailbox_id for one in arrival.recipients)
        self._say(
            LogEvent.MAIL_RECEIVED,
            number=number,
            mailbox_ids=" ".join(mailbox_ids),
            recipients=len(arrival.recipients),
            tokens=sum(one.token is not None for one in arrival.recipients),
            sender_domain=arrival.sender.rpartition("@")[2] or None,
            client_ip=arrival.client_ip,
            helo=arrival.helo,
            is_tls=arrival.is_tls,
            size_bytes=size_bytes,
            defects=" ".join(arrival.defects),
            took_s=took.total_seconds(),
        )

    def mail_published(self, number: int, mailbox_id: str, published: Published) -> None:
        """A message is an event."""
        self._say(
            LogEvent.MAIL_PUBLISHED,
            number=number,
            mailbox_id=mailbox_id,
            event_id=encode_id(Kind.EVENT, published.seq),
            thread_id=encode_id(Kind.THREAD, published.thread_number),
            type=published.type,
            matched_by=published.matched_by,
            refused_by=published.refused_by,
        )

    def mail_doubled(self, number: int, mailbox_id: str, seq: int) -> None:
        """A message came again: it is an event already."""
        event_id = encode_id(Kind.EVENT, seq)
        self._say(LogEvent.MAIL_DOUBLED, number=number, mailbox_id=mailbox_id, event_id=event_id)

    def mail_set_aside(self, number: int, error: Exception) -> None:
        """A message can not be published: it stays stored, and is tried again after a restart."""
        self._say(LogEvent.MAIL_SET_ASIDE, number=number, **error_fields(error))

    def client_refused(self, client_ip: str, reason: str) -> None:
        """A client of the listener was sent away, or its mail was refused."""
        self._say_seldom(LogEvent.CLIENT_REFUSED, reason, client_ip=client_ip, reason=reason)

    def lease_expired(self, expired: LeaseExpired) -> None:
        """A consumer did not answer in time; what its lease showed waits again."""
        self._say_seldom(
            LogEvent.LEASE_EXPIRED,
            expired.consumer,
            consumer=expired.consumer,
            mailbox_id=expired.mailbox_id,
            thread_id=encode_id(Kind.THREAD, expired.thread_number),
            lease_id=encode_id(Kind.LEASE, expired.lease),
        )

    def events_died(self, died: EventsDied) -> None:
        """A consumer failed so often at these events that it is shown them no more."""
        self._say(
            LogEvent.EVENTS_DIED,
            consumer=died.consumer,
            mailbox_id=died.mailbox_id,
            thread_id=encode_id(Kind.THREAD, died.thread_number),
            event_ids=" ".join(encode_id(Kind.EVENT, seq) for seq in died.seqs),
        )

    def thread_held(self, held: ThreadHeld) -> None:
        """Machines answer each other: what goes there is held."""
        self._say(
            LogEvent.THREAD_HELD,
            mailbox_id=held.mailbox_id,
            thread_id=encode_id(Kind.THREAD, held.thread_number),
            event_id=encode_id(Kind.EVENT, held.event),
            reason=held.evidence,
            peer_domain=held.peer_domain or None,
            holds=" ".join(held.scopes),
            deliveries=held.deliveries,
        )

    def thread_freed(self, freed: ThreadFreed) -> None:
        """A person wrote there, or set it free."""
        self._say(
            LogEvent.THREAD_FREED,
            mailbox_id=freed.mailbox_id,
            thread_id=encode_id(Kind.THREAD, freed.thread_number),
            event_id=encode_id(Kind.EVENT, freed.event),
            reason=freed.evidence,
            by=freed.by,
            deliveries=freed.deliveries,
        )
