"""What the daemon says of itself in the same log: its start and end, its store and relays, what went wrong.

Rules as in `ops.decisions`. An exception is told by its name, its message and the way it came, never by its locals.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from traceback import extract_tb
from typing import Final

from postroom.core.alert import Raised
from postroom.core.ids import Kind, encode_id
from postroom.ops.alertlog import fields_of
from postroom.ops.logbook import Logbook
from postroom.ops.logline import Value, without_addresses
from postroom.ops.logwords import LogEvent
from postroom.ops.throttle import Throttle
from postroom.ports.arriving import Arrival, Published
from postroom.ports.changes import EventsDied, LeaseExpired, ThreadFreed, ThreadHeld
from postroom.ports.errors import AlreadyRunning, ConfigError, RelayFault, StateRefused
from postroom.ports.looping import Recovered


_NO_RELOAD: Final = "Settings are read at start: restart for new ones. SIGTERM stops."
_CLOCK: Final = (
    "The wall clock has moved by more than an hour, or stands more than a week from what the store knows:"
    " retention waits. Set the clock; what it says is believed a day from now."
)


class Chronicle:
    """Says what happened to the daemon."""

    def __init__(self, book: Logbook, throttle: Throttle) -> None:
        self._book = book
        self._throttle = throttle

    def starting(self, version: str, pid: int, state_dir: Path, mailboxes: int) -> None:
        """The settings are read; recovery comes next."""
        self._say(
            LogEvent.DAEMON_STARTED,
            version=version,
            pid=pid,
            state_dir=str(state_dir),
            mailboxes=mailboxes,
        )

    def recovered(self, found: Recovered) -> None:
        """What the last run left under way."""
        self._say(
            LogEvent.DAEMON_RECOVERED,
            to_pending=found.to_pending,
            to_uncertain=found.to_uncertain,
            poison=found.poison,
            is_reboot=found.is_reboot,
            was_clean_stop=found.was_clean_stop,
        )

    def ready(self, took: timedelta) -> None:
        """The socket answers."""
        self._say(LogEvent.DAEMON_READY, took_s=took.total_seconds())

    def draining(self, reason: str, under_way: int, drain: timedelta) -> None:
        """No new work; what is under way has `drain` to end."""
        self._say(
            LogEvent.DAEMON_DRAINING,
            reason=reason,
            under_way=under_way,
            drain_s=drain.total_seconds(),
        )

    def stopped(self, left_under_way: int, took: timedelta) -> None:
        """The store is closed; `left_under_way` deliveries had not ended."""
        self._say(
            LogEvent.DAEMON_STOPPED, left_under_way=left_under_way, took_s=took.total_seconds()
        )

    def signal_ignored(self, name: str) -> None:
        """A signal came that means nothing here: it must not end what it did not ask to stop."""
        self._say_seldom(LogEvent.SIGNAL_IGNORED, name, signal=name, detail=_NO_RELOAD)

    def failed(self, error: BaseException) -> None:
        """The daemon can not go on. Where we refused to start, the words say it all and no trace is told."""
        told = _told(error)
        if isinstance(error, (AlreadyRunning, ConfigError, StateRefused)):
            told["trace"] = ""
        self._say(LogEvent.DAEMON_FAILED, **told)

    def watchdog_withheld(self, reason: str, loop_lag: timedelta) -> None:
        """No sign of life was given to systemd."""
        lag_s = loop_lag.total_seconds()
        self._say_seldom(LogEvent.WATCHDOG_WITHHELD, reason, reason=reason, loop_lag_s=lag_s)

    def mailbox_paused(self, mailbox_id: str, reason: str, by: str) -> None:
        """A person paused a mailbox."""
        self._say(LogEvent.MAILBOX_PAUSED, mailbox_id=mailbox_id, reason=reason, by=by)

    def mailbox_resumed(self, mailbox_id: str, by: str) -> None:
        """A person set it free again."""
        self._say(LogEvent.MAILBOX_RESUMED, mailbox_id=mailbox_id, by=by)

    def relay_faulted(self, relay_id: str, fault: RelayFault) -> None:
        """A connection to a relay could not be made or was lost."""
        reply = fault.reply
        self._say_seldom(
            LogEvent.RELAY_FAULTED,
            (relay_id, fault.stage),
            relay_id=relay_id,
            stage=fault.stage,
            reply_code=reply.code if reply else None,
            enhanced_status=reply.enhanced if reply else None,
            detail=without_addresses(fault.detail),
        )

    def store_refused(self, error: Exception) -> None:
        """Nothing was stored, and the caller knows."""
        detail = without_addresses(str(error))
        name = type(error).__name__
        self._say_seldom(LogEvent.STORE_REFUSED, name, error=name, detail=detail)

    def store_warned(self, detail: str) -> None:
        """The store was found in a way that somebody should know of."""
        self._say(LogEvent.STORE_WARNED, detail=detail)

    def store_restored(self, held: int) -> None:
        """The store was put in place from a backup; so many deliveries wait for a person."""
        self._say(LogEvent.STORE_RESTORED, held=held)

    def backup_taken(self, uid: int, size_bytes: int, took: timedelta) -> None:
        """A backup was handed over."""
        values = {"uid": uid, "size_bytes": size_bytes, "took_s": took.total_seconds()}
        self._say(LogEvent.BACKUP_TAKEN, **values)

    def backup_broken(self, uid: int, error: Exception) -> None:
        """A backup could not be brought to its end; whoever asked has none."""
        detail = without_addresses(str(error))
        self._say(LogEvent.BACKUP_BROKEN, uid=uid, error=type(error).__name__, detail=detail)

    def clock_doubted(self) -> None:
        """The wall clock is not believed: what can not be undone waits for a day."""
        self._say(LogEvent.CLOCK_DOUBTED, detail=_CLOCK)

    def alert_raised(self, one: Raised) -> None:
        """Something is the matter, and has been for a while."""
        self._say(LogEvent.ALERT_RAISED, **fields_of(one))

    def alert_cleared(self, one: Raised) -> None:
        """It is over."""
        self._say(LogEvent.ALERT_CLEARED, **fields_of(one))

    def owner_untold(self, key: str, detail: str) -> None:
        """A mail of the daemon's own to an owner was taken by no mailbox; `key` names it."""
        detail = without_addresses(detail)
        self._say_seldom(LogEvent.OWNER_UNTOLD, key, key=key, detail=detail)

    def retention_removed(self, jobs: int, events: int, mails: int, files: int) -> None:
        """What had outlived its time is gone; `mails` are those that were received."""
        self._say(LogEvent.RETENTION_REMOVED, jobs=jobs, events=events, mails=mails, files=files)

    def peer_refused(self, uid: int | None, reason: str) -> None:
        """Somebody may not use the socket; `uid` None = the kernel could not say who."""
        self._say_seldom(LogEvent.PEER_REFUSED, reason, uid=uid, reason=reason)

    def request_failed(self, call: str, error: Exception) -> None:
        """A call of the API met what nobody expected."""
        self._say(LogEvent.REQUEST_FAILED, call=call, **_told(error))

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
        self._say(LogEvent.MAIL_SET_ASIDE, number=number, **_told(error))

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

    def library_warned(self, record: logging.LogRecord) -> None:
        """A library logged a warning or worse."""
        error = record.exc_info[1] if record.exc_info else None
        told = _told(error) if error else {"error": None, "trace": None}
        self._say_seldom(
            LogEvent.LIBRARY_WARNED,
            (record.name, record.levelno, record.lineno),
            **(told | {"logger": record.name, "detail": without_addresses(record.getMessage())}),
        )

    def _say(self, event: LogEvent, **values: Value) -> None:
        self._book.write(event, values)

    def _say_seldom(self, event: LogEvent, kind: object, **values: Value) -> None:
        unlogged = self._throttle.pass_one((event, kind))
        if unlogged is not None:
            self._book.write(event, values | {"unlogged": unlogged})


def _told(error: BaseException) -> dict[str, Value]:
    frames = reversed(extract_tb(error.__traceback__))
    way = (f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
    return {
        "error": type(error).__name__,
        "detail": without_addresses(str(error)),
        "trace": " < ".join(way),
    }
