"""Counting what machines and those who answer at once write, over restarts too (see core.velocity).

Of each thing that is counted only as many rows are kept as a bound needs, and none for longer than a day. What stands in
a thread that is held counts for nothing else: the loop is found.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from postroom.core.delivery import DeliveryState
from postroom.core.inmail import AutomationKind
from postroom.core.instant import Instant, micros
from postroom.core.matching import address_key
from postroom.core.velocity import (
    DAY,
    MACHINE,
    PROMPT,
    PROMPT_TURNS,
    TURNS,
    Bound,
    Evidence,
    HoldScope,
    is_answering,
    is_too_much,
    most_of,
)


# A list is no peer, and a report is judged for itself (CONTRACT §5): neither is an answer to an answer.
_MACHINES: Final = frozenset({AutomationKind.AUTO_REPLY, AutomationKind.BULK, AutomationKind.LOOP})

_WENT: Final = frozenset({DeliveryState.SENT, DeliveryState.UNCERTAIN, DeliveryState.SENDING})

_NOTE: Final = """
    INSERT OR IGNORE INTO velocity (mailbox_id, what, turn, thread, at) VALUES (?, ?, ?, ?, ?)"""
_LATEST: Final = """
    SELECT turn, at FROM velocity WHERE mailbox_id = ? AND what = ? ORDER BY turn DESC LIMIT ?"""
_CUT: Final = "DELETE FROM velocity WHERE mailbox_id = ? AND what = ? AND turn < ?"
_FORGET: Final = "DELETE FROM velocity WHERE mailbox_id = ? AND what = ?"
_FORGET_THREAD: Final = "DELETE FROM velocity WHERE thread = ?"

_IS_HELD: Final = "SELECT 1 FROM hold WHERE mailbox_id = ? AND scope = ? AND name = ?"
_WROTE_IN: Final = "SELECT 1 FROM delivery WHERE thread = ? LIMIT 1"
# The newest of ours to an address; of a long queue only its end is looked at.
_OURS: Final = """
    SELECT number, state, coalesce(settled_at, marked_at) AS at,
           instr(head, CAST('Auto-Submitted: ' AS BLOB)) AS is_automatic
    FROM delivery WHERE recipient_key = ? AND mailbox_id = ? ORDER BY job DESC LIMIT 200"""
_WROTE_THERE: Final = """
    SELECT created_at FROM delivery WHERE mailbox_id = ? AND domain = ? ORDER BY number DESC LIMIT ?"""


@dataclass(frozen=True, slots=True)
class Heard:
    """A mail that becomes an event, as far as counting needs it. `sender` '' = From does not say who."""

    mailbox_id: str
    thread: int
    sender: str
    kind: AutomationKind
    at: Instant
    event: int


@dataclass(frozen=True, slots=True)
class Loop:
    """What was found, and what it holds beside its thread."""

    mailbox_id: str
    thread: int
    peer: str
    evidence: Evidence
    at: Instant
    event: int
    scope: HoldScope = HoldScope.THREAD
    name: str = ""

    @property
    def holds(self) -> tuple[tuple[HoldScope, str], ...]:
        """Each thing to hold: what it is, and which one."""
        own = (HoldScope.THREAD, str(self.thread))
        return (own,) if self.scope is HoldScope.THREAD else (own, (self.scope, self.name))

    @property
    def scopes(self) -> tuple[HoldScope, ...]:
        """The first halves of these."""
        return tuple(scope for scope, _ in self.holds)


def find_loop(conn: sqlite3.Connection, heard: Heard) -> Loop | None:
    """Count a mail; the loop that it makes, if it is the one too many."""
    peer = address_key(heard.sender)
    if heard.kind in _MACHINES:
        found = _Machine(conn, heard, peer).find()
    elif heard.kind is AutomationKind.HUMAN and peer:
        found = _Talk(conn, heard, peer).find()
    else:
        found = None
    if found is not None:
        conn.execute(_FORGET_THREAD, (heard.thread,))
    return found


def forget(conn: sqlite3.Connection, mailbox_id: str, scope: HoldScope, name: str) -> None:
    """Count from zero what was held."""
    if scope is HoldScope.THREAD:
        conn.execute(_FORGET_THREAD, (int(name),))
        return
    for what in (f"{scope} {name}", f"prompt {name}", f"turns {name}"):
        conn.execute(_FORGET, (mailbox_id, what))


@dataclass(frozen=True, slots=True)
class _Machine:
    """A machine's mail. In a thread, too, strangers are counted by their domain: a robot may have many addresses."""

    conn: sqlite3.Connection
    heard: Heard
    peer: str

    def find(self) -> Loop | None:
        heard, domain = self.heard, self.peer.rpartition("@")[2]
        if _is_held(self.conn, heard.mailbox_id, HoldScope.THREAD, str(heard.thread)):
            return None
        ours = _find_ours(self.conn, heard.mailbox_id, self.peer)
        is_known = ours is not None and ours["at"] > heard.at - micros(DAY)
        is_stranger = not is_known and heard.kind is not AutomationKind.LOOP
        if self._is_loop_in_thread(domain, is_stranger=is_stranger):
            return self._loop(Evidence.THREAD)
        if heard.kind is AutomationKind.LOOP or not domain:
            return None
        if self._is_loop(HoldScope.ADDRESS, self.peer) and is_known:
            return self._loop(Evidence.ADDRESS, HoldScope.ADDRESS, self.peer)
        if is_stranger and self._is_loop(HoldScope.DOMAIN, domain) and self._answers_us(domain):
            return self._loop(Evidence.DOMAIN, HoldScope.DOMAIN, domain)
        return None

    def _is_loop_in_thread(self, domain: str, *, is_stranger: bool) -> bool:
        thread = f"thread {self.heard.thread}"
        is_much = _count(self.conn, self.heard, f"{thread} {self.peer}", MACHINE)
        if is_stranger:
            is_much |= _count(self.conn, self.heard, f"{thread} @{domain}", MACHINE)
        return is_much and self.conn.execute(_WROTE_IN, (self.heard.thread,)).fetchone() is not None

    def _is_loop(self, scope: HoldScope, name: str) -> bool:
        is_much = _count(self.conn, self.heard, f"{scope} {name}", MACHINE)
        return is_much and not _is_held(self.conn, self.heard.mailbox_id, scope, name)

    def _answers_us(self, domain: str) -> bool:
        """Whether we wrote to the domain of late, as much as would be answered so."""
        mailbox_id, since = self.heard.mailbox_id, self.heard.at - micros(DAY)
        counted = _latest(self.conn, self.heard, f"{HoldScope.DOMAIN} {domain}", MACHINE)
        first = min(counted)
        most = 2 * len(counted) + 1
        rows = self.conn.execute(_WROTE_THERE, (mailbox_id, domain, most)).fetchall()
        ours = [row["created_at"] for row in rows if row["created_at"] > since]
        return is_answering(len(counted), sum(at >= first for at in ours))

    def _loop(
        self, evidence: Evidence, scope: HoldScope = HoldScope.THREAD, name: str = ""
    ) -> Loop:
        heard = self.heard
        return Loop(
            heard.mailbox_id, heard.thread, self.peer, evidence, heard.at, heard.event, scope, name
        )


@dataclass(frozen=True, slots=True)
class _Talk:
    """Mail that looks like a person's: turns after what we sent by ourselves."""

    conn: sqlite3.Connection
    heard: Heard
    peer: str

    def find(self) -> Loop | None:
        heard = self.heard
        row = _find_ours(self.conn, heard.mailbox_id, self.peer)
        if row is None or not row["is_automatic"] or row["at"] <= heard.at - micros(DAY):
            return None
        turn = row["number"]
        is_much = _count(self.conn, heard, f"turns {self.peer}", TURNS, turn)
        if heard.at - row["at"] <= micros(PROMPT):
            is_much |= _count(self.conn, heard, f"prompt {self.peer}", PROMPT_TURNS, turn)
        else:
            self.conn.execute(_FORGET, (heard.mailbox_id, f"prompt {self.peer}"))
        if not is_much or _is_held(self.conn, heard.mailbox_id, HoldScope.ADDRESS, self.peer):
            return None
        return Loop(
            *(heard.mailbox_id, heard.thread, self.peer, Evidence.TURNS, heard.at, heard.event),
            *(HoldScope.ADDRESS, self.peer),
        )


def _count(
    conn: sqlite3.Connection,
    heard: Heard,
    what: str,
    bounds: tuple[Bound, ...],
    turn: int | None = None,
) -> bool:
    """Count one more of it; whether that is too much."""
    number = heard.event if turn is None else turn
    conn.execute(_NOTE, (heard.mailbox_id, what, number, heard.thread, heard.at))
    return is_too_much(bounds, _latest(conn, heard, what, bounds), heard.at)


def _latest(
    conn: sqlite3.Connection, heard: Heard, what: str, bounds: tuple[Bound, ...]
) -> list[Instant]:
    """When it happened the last times; older ones are dropped."""
    most = most_of(bounds)
    rows = conn.execute(_LATEST, (heard.mailbox_id, what, most)).fetchall()
    if len(rows) == most:
        conn.execute(_CUT, (heard.mailbox_id, what, rows[-1]["turn"]))
    return [Instant(row["at"]) for row in rows]


def _is_held(conn: sqlite3.Connection, mailbox_id: str, scope: HoldScope, name: str) -> bool:
    return conn.execute(_IS_HELD, (mailbox_id, scope, name)).fetchone() is not None


def _find_ours(conn: sqlite3.Connection, mailbox_id: str, peer: str) -> sqlite3.Row | None:
    """The latest that went to this address, or may have; what was never handed over has nothing to be answered."""
    rows: Iterable[sqlite3.Row] = conn.execute(_OURS, (peer, mailbox_id))
    return next((row for row in rows if row["state"] in _WENT and row["at"] is not None), None)
