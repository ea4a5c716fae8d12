"""Opening the store: is it ours, is it whole, what did the last daemon leave behind.

Everything here runs on the writing connection before anybody else may use it; the last transaction both recovers and
notes that a daemon is at work, so a crash in between changes nothing.
"""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from postroom.core.instant import Instant
from postroom.ports.errors import AlreadyRunning, StoreBroken
from postroom.ports.host import Clock, Entropy
from postroom.ports.looping import Recovered
from postroom.store.sqlite.connection import set_up_writer
from postroom.store.sqlite.identity import check_readable
from postroom.store.sqlite.migrate import check_identity, migrate, shipped
from postroom.store.sqlite.recovery import Found, hold_restored, leave_out_numbers, recover
from postroom.store.sqlite.spoiled import is_damaged, readable
from postroom.store.sqlite.stray import hold_stray


_MACHINE_ID: Final = Path("/etc/machine-id")
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_CHECK_TIME: Final = (
    1_000_000  # microseconds: some hundred megabytes; a longer check would delay the start
)
_CHECK_STEPS: Final = 10_000  # virtual machine steps between two looks at the clock

_INSTANCE: Final = "SELECT * FROM instance"
_CREATE: Final = """
    INSERT INTO instance (one, instance_id, log_id, machine_id, boot_id, clean_stop, created_at)
    VALUES (1, ?, ?, ?, ?, 1, ?)"""
_AT_WORK: Final = "UPDATE instance SET clean_stop = 0, is_backup = 0, machine_id = ?, boot_id = ?"
_RESTORED: Final = "UPDATE instance SET log_id = ?, instance_id = ?"
_NEWEST: Final = "SELECT at FROM history ORDER BY number DESC LIMIT 1"
_STRAY: Final = (
    "the mailbox or lane of {count} waiting deliveries is damaged where it is stored: they are held; look at them with"
    " postroom jobs --status held, cancel them, and hand them over anew"
)
_STOPPED: Final = "UPDATE instance SET clean_stop = 1"


@dataclass(frozen=True, slots=True)
class HostIdentity:
    """Which machine this is, and which of its boots; '' where the host does not say."""

    machine_id: str
    boot_id: str


@dataclass(frozen=True, slots=True)
class Opened:
    """What was found. `warnings` are sentences for the operator; `newest_at` is the newest instant in its history.

    `restored`: it was a copy, and so many deliveries are held now; None = it was none.
    """

    instance_id: str
    recovered: Recovered
    restored: int | None
    copy: Path | None
    newest_at: Instant | None
    warnings: tuple[str, ...]


def read_identity() -> HostIdentity:
    """The identity of this host."""
    return HostIdentity(_read(_MACHINE_ID), _read(_BOOT_ID))


@dataclass(frozen=True, slots=True)
class OpeningRules:
    """Where we are and what the operator accepts; `migrations` are what this version brings the file to."""

    host: HostIdentity = field(default_factory=read_identity)
    accept_machine: bool = False
    accept_file_system: bool = False
    migrations: Sequence[str] = field(default_factory=shipped)


def open_store(
    conn: sqlite3.Connection, path: Path, clock: Clock, entropy: Entropy, rules: OpeningRules
) -> Opened:
    """Check, migrate, recover; afterwards the connection is ready for units.

    Raises: StateRefused for a file that is not for us; AlreadyRunning when it was last used on another machine and that
    was not accepted; StoreBroken when it is damaged.
    """
    host = rules.host
    version = check_identity(conn, path, len(rules.migrations))
    set_up_writer(conn)
    copy = migrate(conn, path, version, rules.migrations)
    check_readable(conn, path)
    now = clock.now()
    conn.execute("BEGIN IMMEDIATE")
    try:
        row = _instance(conn, entropy, host, now)
        _check_machine(row, host, path, accept=rules.accept_machine)
        warning = None if row["clean_stop"] else _check_pages(conn, clock)
        is_reboot = row["boot_id"] != host.boot_id
        is_crash = not (row["clean_stop"] or is_reboot or row["is_backup"])
        newest_at = _newest(conn)
        held = 0
        if row["is_backup"]:
            leave_out_numbers(conn, now)
            row = _rename(conn, entropy)
        found = recover(conn, now, is_crash=is_crash)
        if row["is_backup"]:
            held = hold_restored(conn, now)
        stray = hold_stray(conn, now)
        conn.execute(_AT_WORK, (host.machine_id or row["machine_id"], host.boot_id))
    except BaseException:
        conn.execute("ROLLBACK")
        raise
    conn.execute("COMMIT")
    return Opened(
        instance_id=row["instance_id"],
        recovered=_recovered(found, is_reboot=is_reboot, was_clean_stop=bool(row["clean_stop"])),
        restored=held if row["is_backup"] else None,
        copy=copy,
        newest_at=newest_at,
        warnings=(*filter(None, (warning,)), *((_STRAY.format(count=stray),) if stray else ())),
    )


def _newest(conn: sqlite3.Connection) -> Instant | None:
    row = conn.execute(_NEWEST).fetchone()
    return None if row is None else Instant(row["at"])


def note_clean_stop(conn: sqlite3.Connection) -> None:
    """Say that whatever is under way was written down: what a later start finds is no crash."""
    conn.execute(_STOPPED)


def _instance(
    conn: sqlite3.Connection, entropy: Entropy, host: HostIdentity, now: Instant
) -> sqlite3.Row:
    with readable(conn):  # which boot it was may be damaged: then it counts as another one
        found: sqlite3.Row | None = conn.execute(_INSTANCE).fetchone()
    if found is not None:
        return found
    ids = (_new_id(entropy), _new_id(entropy))
    conn.execute(_CREATE, (*ids, host.machine_id, host.boot_id, now))
    made: sqlite3.Row = conn.execute(_INSTANCE).fetchone()
    return made


def _rename(conn: sqlite3.Connection, entropy: Entropy) -> sqlite3.Row:
    """A restored store is another one than that which the copy was made of, and so is its log."""
    conn.execute(_RESTORED, (_new_id(entropy), _new_id(entropy)))
    renamed: sqlite3.Row = conn.execute(_INSTANCE).fetchone()
    return renamed


def _check_machine(row: sqlite3.Row, host: HostIdentity, path: Path, *, accept: bool) -> None:
    known = row["machine_id"]
    if accept or not known or not host.machine_id or known == host.machine_id:
        return
    said = (
        "does not say any more on which machine it was last used (machine_id in its table instance is damaged)"
        if is_damaged(known)
        else "was last used on another machine"
    )
    message = (
        f"{path} {said}. Two daemons with copies of one store send everything twice:"
        " make sure that the other one never starts again, then start once with --accept-machine"
    )
    raise AlreadyRunning(message)


def _check_pages(conn: sqlite3.Connection, clock: Clock) -> str | None:
    """Look for damage after an unclean stop; a warning when the file is too large to look at all of it in time."""
    end = clock.monotonic() + _CHECK_TIME
    conn.set_progress_handler(_after(clock, end), _CHECK_STEPS)
    try:
        verdict = conn.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return "the store is large: after the unclean stop only a part of it was checked for damage"
    finally:
        conn.set_progress_handler(None, 0)
    if verdict != "ok":
        message = f"the database is damaged: {verdict}"
        raise StoreBroken(message)
    return None


def _after(clock: Clock, end: int) -> Callable[[], int]:
    return lambda: int(clock.monotonic() >= end)


def _recovered(found: Found, *, is_reboot: bool, was_clean_stop: bool) -> Recovered:
    return Recovered(
        to_pending=found.to_pending,
        to_uncertain=found.to_uncertain,
        poison=found.poison,
        is_reboot=is_reboot,
        was_clean_stop=was_clean_stop,
    )


def _new_id(entropy: Entropy) -> str:
    return f"{entropy.token(128):032x}"


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return ""
