"""Who is told what the loop decided: the decision log and the signals. Nothing here may raise or wait."""

from datetime import timedelta
from typing import Protocol

from postroom.core.admit import Wait
from postroom.core.breaker import Breaker
from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.speed import SpeedMoved
from postroom.ports.errors import RelayFault
from postroom.ports.looping import DomainPause, MarkStopped, Outcome, Started, WaitingRow


class Account(Protocol):
    """Every decision of the delivery loop, with its reason."""

    def started(self, started: Started, row: WaitingRow, at: Instant) -> None:
        """An attempt at this row began."""
        ...

    def stopped(self, started: Started, stopped: MarkStopped) -> None:
        """The mark said no."""
        ...

    def inbound_waits(self, row: WaitingRow, since: Instant) -> None:
        """A delivery waits long for mail of its thread, stored since then, to be read."""
        ...

    def ended(
        self, started: Started, outcome: Outcome, state: DeliveryState, took: timedelta
    ) -> None:
        """An attempt ended after `took`, and its outcome is stored."""
        ...

    def waited(self, mailbox_id: str, wait: Wait) -> None:
        """A gate holds back what this mailbox could send next."""
        ...

    def relay_faulted(self, relay_id: str, fault: RelayFault) -> None:
        """A connection could not be made, or was lost."""
        ...

    def breaker_moved(self, scope: str, id_: str, before: Breaker, after: Breaker) -> None:
        """The breaker of a `relay` or `mailbox` (`scope`) opened, was probed or closed."""
        ...

    def domain_paused(self, pause: DomainPause) -> None:
        """A recipient domain is left alone for a while."""
        ...

    def speed_moved(self, moved: SpeedMoved) -> None:
        """A relay, or a domain of it, goes slower or faster than before."""
        ...

    def expired(self, count: int) -> None:
        """So many waiting deliveries ended because their time was over."""
        ...

    def store_refused(self, error: Exception) -> None:
        """The store could not take something; it is going to be tried again."""
        ...
