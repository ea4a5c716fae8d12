"""Alerts in the running daemon: once a minute it looks, writes down what has changed, logs it, and tells the owners.

What is raised is in the store before anybody hears of it, so a restart neither raises it again nor forgets it. Who was to
be told within the hour before a crash is told after it, under the same key.
"""

from collections.abc import Sequence
from typing import Final

from postroom.core.alert import Raised
from postroom.core.alertstate import AlertState, Moves
from postroom.core.trend import Trends
from postroom.ops.chronicle import Chronicle
from postroom.ports.alerting import Alerts
from postroom.ports.errors import StoreBroken, StoreError
from postroom.ports.host import Clock
from postroom.service.alerttelling import AlertTeller
from postroom.service.sampling import Sampler


EVERY_S: Final = 60.0


class AlertKeeper:
    """Runs until it is cancelled; `raised` is what the last run left."""

    def __init__(
        self,
        alerts: Alerts,
        sampler: Sampler,
        teller: AlertTeller,
        clock: Clock,
        chronicle: Chronicle,
    ) -> None:
        self._alerts = alerts
        self._sampler = sampler
        self._teller = teller
        self._clock = clock
        self._chronicle = chronicle
        self._trends = Trends()
        self._state = AlertState(clock.monotonic())

    def restore(self, raised: Sequence[Raised]) -> None:
        """Go on with what the last run left raised."""
        self._state.restore(raised)
        self._teller.restore(raised)

    def raised(self) -> tuple[Raised, ...]:
        """What stands, the oldest first."""
        return tuple(sorted(self._state.standing.values(), key=lambda one: one.seq))

    async def run(self) -> None:
        """Look once a minute. Raises: StoreBroken."""
        while True:
            await self._look()
            await self._clock.sleep(EVERY_S)

    async def _look(self) -> None:
        try:
            sample = await self._sampler.take()
            findings = self._trends.judge(sample, self._state.standing)
            moves = self._state.step(findings, sample.now)
            if moves.raised or moves.cleared:
                await self._move(moves)
            await self._teller.tell()
        except StoreBroken:
            raise
        except StoreError as error:
            self._chronicle.store_refused(error)

    async def _move(self, moves: Moves) -> None:
        at = self._clock.now()
        raised = await self._alerts.move(moves, at)
        self._state.commit(raised, moves.cleared)
        for one in raised:
            self._chronicle.alert_raised(one)
        for one in moves.cleared:
            self._chronicle.alert_cleared(one)
        self._teller.note(at, raised, moves.cleared)
