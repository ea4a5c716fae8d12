"""The running daemon as people and programs see it through the API: why something waits, whether all is well."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.core.record import JobRecord
from postroom.ports.figures import Stats


class GateVerdict(StrEnum):
    """What one gate says of one delivery."""

    PASSED = "passed"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class GateReport:
    """One gate of `admit()`: what it measured, against what, and when it opens by itself (None = nobody knows)."""

    name: str
    verdict: GateVerdict
    value: int | str | None
    threshold: int | str | None
    until: Instant | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a delivery is where it is: every gate in order. `earliest` is None where no gate can say, or none is asked."""

    state: DeliveryState
    gates: tuple[GateReport, ...]
    earliest: Instant | None


@dataclass(frozen=True, slots=True)
class QueueView:
    """One queue of a mailbox's lane: all recipient domains but those that stand apart (`domain` None), or one of these.

    `first` = number of the delivery that goes next, `stop` = the gate that it waits at (None = it is about to start),
    `read` = how many are read ahead, the first among them. `next_at`: nothing is due, and this is when the first will be.
    """

    mailbox_id: str
    lane: Lane
    domain: str | None
    first: int | None
    stop: GateReport | None
    read: int
    next_at: Instant | None


class CheckVerdict(StrEnum):
    """How one step of a mailbox check went."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One step of a mailbox check; `fix` says what to do, empty when nothing is."""

    step: str
    verdict: CheckVerdict
    detail: str
    fix: str


@dataclass(frozen=True, slots=True)
class BreakerView:
    """A breaker as it stands: `state` and `reason` are core.breaker's words, `probe_at` is when it next tries."""

    state: str
    reason: str | None
    probe_at: Instant | None


@dataclass(frozen=True, slots=True)
class SlowedView:
    """A relay (`domain` None), or a domain behind it, that is slowed down: starts a minute and under way, now and before."""

    domain: str | None
    reason: str
    per_minute: float
    at_once: int
    was_per_minute: int
    was_at_once: int
    since: Instant


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether new work can be taken; `detail` says in one safe line why not."""

    is_ready: bool
    detail: str


class Loop(Protocol):
    """The delivery loop and what it knows."""

    async def explain(self, number: int) -> Explanation | None:
        """The gates of a delivery, as the loop's own `admit()` sees them; None when there is no such delivery."""
        ...

    def find_queues(self) -> tuple[QueueView, ...]:
        """What the loop has in front of it, by mailbox, lane and domain."""
        ...

    async def wait_settled(self, number: int, timeout_s: float) -> JobRecord | None:
        """The job once it is settled, or as it stands after `timeout_s`; None when there is no such job."""
        ...

    async def check(self, mailbox_id: str) -> tuple[CheckLine, ...]:
        """Try the way out of a configured mailbox, up to RSET: nothing is sent."""
        ...

    def find_breakers(self, mailbox_id: str) -> tuple[BreakerView, BreakerView] | None:
        """The breaker of a configured mailbox, and that of its relay."""
        ...

    def find_slowed(self, mailbox_id: str) -> tuple[SlowedView, ...]:
        """What is slowed down on the way out of a mailbox: its relay first, then domains, the slowest first."""
        ...


class Signals(Protocol):
    """Whether all is well."""

    async def stats(self) -> Stats:
        """The three signals."""
        ...

    async def metrics_text(self) -> str:
        """The same and more, in Prometheus' text format 0.0.4."""
        ...

    async def readiness(self) -> Readiness:
        """Whether recovery is done and the store takes writes."""
        ...


class Messages(Protocol):
    """The bytes of messages."""

    async def find_message(self, number: int) -> AsyncIterator[bytes] | None:
        """The exact bytes of a delivery, sent or to be sent, dots not stuffed; None when retention removed them."""
        ...
