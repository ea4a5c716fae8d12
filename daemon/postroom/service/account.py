"""Leads what the loop and acceptance decide to the decision log and to the signals."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from postroom.core.admit import Wait
from postroom.core.breaker import Breaker
from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.replying import Answered
from postroom.core.speed import SpeedMoved
from postroom.ops.chronicle import Chronicle
from postroom.ops.decisions import Decisions
from postroom.ops.logwords import Scope
from postroom.ops.signals import Signals
from postroom.ports.accepting import Accepted, AcceptResult, KnownKey, NewJob, Replayed
from postroom.ports.changes import (
    Change,
    DeliveryQuarantined,
    DoubtJudged,
    EventPublished,
    EventsDied,
    JobChanged,
    LeaseExpired,
    MailboxPaused,
    RecipientSuppressed,
    StateMoved,
    ThreadFreed,
    ThreadHeld,
)
from postroom.ports.errors import RelayFault
from postroom.ports.looping import DomainPause, MarkStopped, Outcome, Started, WaitingRow
from postroom.ports.outbox import Intake


# Most of what changes; nothing is told of it here.
_EVERYDAY: Final = (StateMoved, EventPublished, JobChanged)


class LoopAccount:
    """Implements ports.account.Account."""

    def __init__(self, decisions: Decisions, chronicle: Chronicle, signals: Signals) -> None:
        self._decisions = decisions
        self._chronicle = chronicle
        self._signals = signals

    def started(self, started: Started, row: WaitingRow, at: Instant) -> None:
        """An attempt began."""
        self._decisions.started(started)
        self._signals.started(row, at)

    def stopped(self, started: Started, stopped: MarkStopped) -> None:
        """The mark said no."""
        self._decisions.stopped(started, stopped)

    def inbound_waits(self, row: WaitingRow, since: Instant) -> None:
        """A delivery waits long for mail of its thread to be read."""
        self._decisions.inbound_waits(row, since)

    def ended(
        self, started: Started, outcome: Outcome, state: DeliveryState, took: timedelta
    ) -> None:
        """An attempt ended, and its outcome is stored."""
        self._decisions.finished(started, outcome, state)
        self._signals.finished(started, outcome, state, took)

    def waited(self, mailbox_id: str, wait: Wait) -> None:
        """A gate holds a mailbox back."""
        self._decisions.waited(mailbox_id, wait)
        self._signals.waited(mailbox_id, wait)

    def relay_faulted(self, relay_id: str, fault: RelayFault) -> None:
        """A connection could not be made, or was lost."""
        self._chronicle.relay_faulted(relay_id, fault)

    def breaker_moved(self, scope: str, id_: str, before: Breaker, after: Breaker) -> None:
        """A breaker moved."""
        self._decisions.breaker_moved(Scope(scope), id_, before, after)
        self._signals.breaker_stands(Scope(scope), id_, after)

    def domain_paused(self, pause: DomainPause) -> None:
        """A recipient domain is left alone."""
        self._decisions.domain_paused(pause)

    def speed_moved(self, moved: SpeedMoved) -> None:
        """A relay, or a domain of it, goes slower or faster."""
        self._decisions.speed_moved(moved)
        self._signals.speed_moved(moved)

    def expired(self, count: int) -> None:
        """Waiting deliveries were given up."""
        if count:
            self._decisions.expired(count)

    def store_refused(self, error: Exception) -> None:
        """The store said no."""
        self._chronicle.store_refused(error)

    def committed(self, changes: Sequence[Change]) -> None:
        """Tell what people did to mailboxes, of loops, whom reports ended, what settled doubt (ports.changes.Observer)."""
        for change in changes:
            if not isinstance(change, _EVERYDAY):
                self._tell_of_many(change)
                self._tell_of_one(change)

    def _tell_of_many(self, change: Change) -> None:
        match change:
            case MailboxPaused(is_paused=True):
                self._chronicle.mailbox_paused(change.mailbox_id, change.reason, change.by)
            case MailboxPaused():
                self._chronicle.mailbox_resumed(change.mailbox_id, change.by)
            case ThreadHeld():
                self._chronicle.thread_held(change)
            case ThreadFreed():
                self._chronicle.thread_freed(change)
            case LeaseExpired():
                self._chronicle.lease_expired(change)
            case EventsDied():
                self._chronicle.events_died(change)
            case _:
                pass

    def _tell_of_one(self, change: Change) -> None:
        match change:
            case RecipientSuppressed():
                self._decisions.recipient_suppressed(change)
            case DeliveryQuarantined():
                self._decisions.quarantined(change)
            case DoubtJudged():
                self._decisions.doubt_judged(change)
            case _:
                pass


class ToldIntake:
    """An Intake whose decisions are told: ports.outbox.Intake around the store's own."""

    def __init__(self, intake: Intake, decisions: Decisions, signals: Signals) -> None:
        self._intake = intake
        self._decisions = decisions
        self._signals = signals

    def reserve(self, jobs: int, deliveries: int, threads: int) -> tuple[int, int, int]:
        """The first of so many numbers."""
        return self._intake.reserve(jobs, deliveries, threads)

    async def find_key(self, mailbox_id: str, key_hash: bytes) -> KnownKey | None:
        """What a key stands for."""
        return await self._intake.find_key(mailbox_id, key_hash)

    async def has_thread(self, mailbox_id: str, number: int) -> bool:
        """Whether the mailbox has this thread."""
        return await self._intake.has_thread(mailbox_id, number)

    async def find_answered(self, seq: int) -> Answered | None:
        """An event that is to be answered."""
        return await self._intake.find_answered(seq)

    async def find_chain(self, thread_number: int) -> tuple[str, ...]:
        """Message-IDs of a thread."""
        return await self._intake.find_chain(thread_number)

    async def find_chains(
        self, mailbox_id: str, conversation_id: str, thread_keys: Sequence[str]
    ) -> Mapping[str, tuple[str, ...]]:
        """Message-IDs of the threads of a name."""
        return await self._intake.find_chains(mailbox_id, conversation_id, thread_keys)

    async def accept(self, new: NewJob) -> AcceptResult:
        """Store a job, and tell."""
        result = await self._intake.accept(new)
        self.tell(new, result)
        return result

    def tell(self, new: NewJob, result: AcceptResult) -> None:
        """Tell of a job that was stored, also by others."""
        match result:
            case Accepted():
                self._decisions.accepted(new, result)
                self._signals.accepted(new.job.mailbox_id)
            case Replayed():
                self._decisions.replayed(new, result)
            case _:
                pass
