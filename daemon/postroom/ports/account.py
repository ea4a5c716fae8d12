"""Who is told what the loop decided: the decision log and the signals. Nothing here may raise or wait."""

from typing import Protocol

from postroom.core.breaker import Breaker
from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.ports.looping import DomainPause, MarkStopped, Outcome, Started, WaitingRow


class Account(Protocol):
    """Every decision of the delivery loop, with its reason."""

    def started(self, started: Started, waited_us: int) -> None:
        """An attempt began; the delivery had been due for `waited_us` microseconds."""
        ...

    def stopped(self, started: Started, stopped: MarkStopped) -> None:
        """The mark said no."""
        ...

    def ended(
        self, started: Started, outcome: Outcome, state: DeliveryState, took_us: int, relay_id: str
    ) -> None:
        """An attempt ended and its outcome is stored; it took `took_us` microseconds from its start."""
        ...

    def postponed(self, row: WaitingRow, gate: str, until: Instant | None) -> None:
        """The head of a queue is held back by this gate."""
        ...

    def breaker_moved(self, scope: str, id_: str, before: Breaker, after: Breaker) -> None:
        """The breaker of a relay or mailbox (`scope` says which) opened, was probed or closed."""
        ...

    def domain_paused(self, pause: DomainPause) -> None:
        """A recipient domain is left alone for a while."""
        ...

    def expired(self, count: int) -> None:
        """So many waiting deliveries ended because their time was over."""
        ...

    def store_refused(self, what: str, detail: str) -> None:
        """The store could not take something; it is going to be tried again."""
        ...
