"""What the daemon says of itself in the same log: its start and end, its store and relays, what went wrong.

Rules as in `ops.decisions`. An exception is told by its name, its message and the way it came, never by its locals.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from postroom.core.alert import Raised
from postroom.ops.alertlog import fields_of
from postroom.ops.inwardchronicle import InwardChronicle
from postroom.ops.logline import without_addresses
from postroom.ops.logwords import LogEvent, LogFormat, LogLevel
from postroom.ops.saying import error_fields
from postroom.ports.errors import AlreadyRunning, ConfigError, RelayFault, StateRefused
from postroom.ports.looping import Recovered


_SIGNALS: Final = "SIGHUP reads the settings again, SIGTERM stops."
_MOST_NAMED: Final = 40  # settings in a line
_CLOCK: Final = (
    "The wall clock has moved by more than an hour, or stands more than a week from what the store knows:"
    " retention waits. Set the clock; what it says is believed a day from now."
)


class Chronicle(InwardChronicle):
    """Says what happened to the daemon; of the way in, what `ops.inwardchronicle` has."""

    def starting(self, version: str, pid: int, state_dir: Path, mailboxes: int) -> None:
        """The settings are read; recovery comes next."""
        self._say(
            LogEvent.DAEMON_STARTED,
            version=version,
            pid=pid,
            state_dir=str(state_dir),
            mailboxes=mailboxes,
        )

    def log_as(self, level: LogLevel, form: LogFormat) -> None:
        """Write this much from now on, in this form; decisions stand in the same book."""
        self._book.switch(level, form)

    def config_reloaded(
        self, by: str, changed: Sequence[str], needs_restart: Sequence[str], took: timedelta
    ) -> None:
        """Other settings are in force: which, and which will be after a restart."""
        self._say(
            LogEvent.CONFIG_RELOADED,
            by=by,
            changed=_listed(changed),
            needs_restart=_listed(needs_restart),
            took_s=took.total_seconds(),
        )

    def config_refused(self, by: str, problems: Sequence[str]) -> None:
        """The settings were read again and are wrong, or could not be taken up: the old ones stay in force."""
        self._say(LogEvent.CONFIG_REFUSED, by=by, detail=without_addresses(_listed(problems)))

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
        self._say_seldom(LogEvent.SIGNAL_IGNORED, name, signal=name, detail=_SIGNALS)

    def failed(self, error: BaseException) -> None:
        """The daemon can not go on. Where we refused to start, the words say it all and no trace is told."""
        told = error_fields(error)
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

    def retention_removed(
        self, jobs: int, events: int, mails: int, threads: int, files: int
    ) -> None:
        """What had outlived its time is gone; `mails` are those that were received."""
        counts = {"jobs": jobs, "events": events, "mails": mails, "threads": threads}
        self._say(LogEvent.RETENTION_REMOVED, **counts, files=files)

    def spool_missing(self, files: int, sha256: str) -> None:
        """So many files that jobs or mails name are not in the spool; `sha256` is the name of one of them."""
        self._say_seldom(LogEvent.SPOOL_MISSING, sha256, files=files, sha256=sha256)

    def peer_refused(self, uid: int | None, reason: str) -> None:
        """Somebody may not use the socket; `uid` None = the kernel could not say who."""
        self._say_seldom(LogEvent.PEER_REFUSED, reason, uid=uid, reason=reason)

    def request_failed(self, call: str, error: Exception) -> None:
        """A call of the API met what nobody expected."""
        self._say(LogEvent.REQUEST_FAILED, call=call, **error_fields(error))

    def library_warned(self, record: logging.LogRecord) -> None:
        """A library logged a warning or worse."""
        error = record.exc_info[1] if record.exc_info else None
        told = error_fields(error) if error else {"error": None, "trace": None}
        self._say_seldom(
            LogEvent.LIBRARY_WARNED,
            (record.name, record.levelno, record.lineno),
            **(told | {"logger": record.name, "detail": without_addresses(record.getMessage())}),
        )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return " ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
