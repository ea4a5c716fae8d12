"""Group commit: many units, one transaction, one fsync.

The rule (an error may cost a unit the whole group without saying so):
- Units run without savepoints while all goes well, which is nearly always. When one fails, the transaction is rolled
  back, and the group runs again with a savepoint for each.
- A unit that fails and leaves the transaction open is then rolled back to its savepoint and answered; the others go on.
- FULL, IOERR, NOMEM and some others roll back the *whole* transaction: `in_transaction` is false. Then nobody of the
  group may be told "ok": the one that failed is answered, and the others run again, one transaction each.
- An error of COMMIT: roll back, tell nobody "ok". After an I/O error there it is not known what is on the disk, and a
  second fsync may lie: the store is broken for this process.
Known limits: a unit that has run may have to run again, so units are pure of their input.
"""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from postroom.ports.changes import Change
from postroom.ports.errors import StorageFull, StoreBroken, StoreError, StoreUnavailable
from postroom.store.sqlite.unit import Unit, UnitResult


GROUP_TIME: Final = 20_000  # microseconds of work before the commit: the others wait that long

_AGAIN: Final = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_PROTOCOL,
}
_BROKEN: Final = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
}
_PRIMARY: Final = 0xFF  # an extended result code holds its primary one in the lowest byte


@dataclass(frozen=True, slots=True)
class Failed:
    """The unit stored nothing, for this reason."""

    error: Exception


Answer = UnitResult[Any] | Failed


@dataclass(slots=True)
class Ran:
    """How a group ended: an answer for each of the first units; those behind them have not run."""

    answers: list[Answer] = field(default_factory=list)
    commits: int = 0
    is_broken: bool = False

    def fail(self, error: Exception, count: int) -> None:
        """Nobody is told "ok": every answer but those that failed by themselves becomes this error."""
        told = [*self.answers, *[Failed(error)] * (count - len(self.answers))]
        self.answers = [one if isinstance(one, Failed) else Failed(error) for one in told]

    @property
    def why_broken(self) -> str:
        """What broke the store, in the words of the first who was told so."""
        told = [answer.error for answer in self.answers if isinstance(answer, Failed)]
        return next((str(error) for error in told if isinstance(error, StoreBroken)), "")

    @property
    def changes(self) -> list[Change]:
        """What changed, in the order of the commits."""
        return [
            change
            for answer in self.answers
            if isinstance(answer, UnitResult)
            for change in answer.changes
        ]


class _UnitFailed(Exception):
    """A unit failed that ran without a savepoint: what the others did can not be told from what it did."""


class _GroupBroken(Exception):
    """The transaction is gone, and with it every unit that ran in it."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def run_group(
    conn: sqlite3.Connection, units: Sequence[Unit[Any]], monotonic: Callable[[], int]
) -> Ran:
    """Run units, at least one, for at most GROUP_TIME, and commit them; "ok" means that it is on the disk."""
    ran = Ran()
    if len(units) == 1:
        _run_alone(conn, units[0], ran)
    else:
        _run_together(conn, units, monotonic, ran)
    ran.is_broken |= any(
        isinstance(answer, Failed) and isinstance(answer.error, StoreBroken)
        for answer in ran.answers
    )
    ran.is_broken |= not _is_open(conn)
    return ran


def _run_together(
    conn: sqlite3.Connection, units: Sequence[Unit[Any]], monotonic: Callable[[], int], ran: Ran
) -> None:
    for run in (_run_units, _run_guarded_units):
        try:
            conn.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            _roll_back(conn)
            ran.fail(translated(error), len(units))
            return
        try:
            run(conn, units, monotonic, ran)
        except _UnitFailed:
            _roll_back(conn)
            ran.answers.clear()
        except _GroupBroken as broken:
            count = len(ran.answers)
            ran.answers.clear()
            _run_others_alone(conn, units[:count], ran)
            ran.answers.append(Failed(translated(broken.error)))
            return
        else:
            _commit(conn, ran)
            return


def _run_units(
    conn: sqlite3.Connection, units: Sequence[Unit[Any]], monotonic: Callable[[], int], ran: Ran
) -> None:
    """Raises: _UnitFailed, _GroupBroken."""
    end = monotonic() + GROUP_TIME
    for unit in units:
        if ran.answers and monotonic() >= end:
            break
        try:
            ran.answers.append(unit(conn))
        except Exception as error:
            raise (_UnitFailed() if conn.in_transaction else _GroupBroken(error)) from error


def _run_guarded_units(
    conn: sqlite3.Connection, units: Sequence[Unit[Any]], monotonic: Callable[[], int], ran: Ran
) -> None:
    """Raises: _GroupBroken."""
    end = monotonic() + GROUP_TIME
    for unit in units:
        if ran.answers and monotonic() >= end:
            break
        try:
            conn.execute("SAVEPOINT unit")
            answer: Answer = unit(conn)
            conn.execute("RELEASE unit")
        except Exception as error:  # noqa: BLE001 - a unit's own fault is its caller's, not the group's
            _undo_unit(conn, error)
            answer = Failed(translated(error))
        ran.answers.append(answer)


def _undo_unit(conn: sqlite3.Connection, error: Exception) -> None:
    if not conn.in_transaction:
        raise _GroupBroken(error) from error
    try:
        conn.execute("ROLLBACK TO unit")
        conn.execute("RELEASE unit")
    except sqlite3.Error:
        _roll_back(conn)
        raise _GroupBroken(error) from error


def _run_others_alone(conn: sqlite3.Connection, units: Sequence[Unit[Any]], ran: Ran) -> None:
    for unit in units:
        if ran.is_broken:
            ran.answers.append(Failed(StoreBroken("the store broke before this was stored")))
        else:
            _run_alone(conn, unit, ran)


def _run_alone(conn: sqlite3.Connection, unit: Unit[Any], ran: Ran) -> None:
    """One transaction for the one unit, so without a savepoint; its answer is added to `ran`."""
    one = Ran()
    try:
        conn.execute("BEGIN IMMEDIATE")
        one.answers.append(unit(conn))
    except Exception as error:  # noqa: BLE001 - as in a group
        _roll_back(conn)
        one.answers.append(Failed(translated(error)))
    else:
        _commit(conn, one)
    ran.answers += one.answers
    ran.commits += one.commits
    ran.is_broken |= one.is_broken


def _commit(conn: sqlite3.Connection, ran: Ran) -> None:
    if not conn.in_transaction:
        ran.fail(StoreUnavailable("the transaction ended before its commit"), len(ran.answers))
        return
    try:
        conn.execute("COMMIT")
    except Exception as error:  # noqa: BLE001 - whatever it is, nobody may be told "ok"
        is_clean = _roll_back(conn)
        ran.is_broken = _is_unknown(error) or not is_clean
        ran.fail(
            StoreBroken(f"it is not known what the commit stored: {error}")
            if ran.is_broken
            else translated(error),
            len(ran.answers),
        )
    else:
        ran.commits += 1


def translated(error: Exception) -> Exception:
    """Our word for an error of SQLite; every other error as it is."""
    if not isinstance(error, sqlite3.Error):
        return error
    code = _primary_code(error)
    if code == sqlite3.SQLITE_FULL:
        return StorageFull(f"the disk is full: {error}")
    if code in _AGAIN:
        return StoreUnavailable(f"the store could not do it now: {error}")
    if code in _BROKEN:
        return StoreBroken(f"the store can not be used: {error}")
    return StoreError(f"the store refused it: {error}")


def _is_unknown(error: Exception) -> bool:
    """Whether a COMMIT that ended so may have stored something or not."""
    code = _primary_code(error)
    return code is None or code == sqlite3.SQLITE_IOERR or code in _BROKEN


def _primary_code(error: Exception) -> int | None:
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & _PRIMARY


def _roll_back(conn: sqlite3.Connection) -> bool:
    """Leave no transaction open; False when even that failed, and the connection is closed instead."""
    try:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
    except sqlite3.Error:
        conn.close()
        return False
    return True


def _is_open(conn: sqlite3.Connection) -> bool:
    try:
        return not conn.in_transaction
    except sqlite3.ProgrammingError:
        return False
