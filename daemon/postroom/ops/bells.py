"""Bells: whoever waits for the log or for a consumer's mail hears of every commit that matters."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from postroom.ports.changes import Change, EventPublished, LogGrew, ThreadWaits


class CommitBells:
    """Implements ports.leasing.Bells; an Observer. It costs nothing while nobody listens."""

    def __init__(self) -> None:
        self._log: set[asyncio.Event] = set()
        self._consumers: dict[str, set[asyncio.Event]] = {}

    def committed(self, changes: Sequence[Change]) -> None:
        """Ring."""
        for change in changes:
            match change:
                case LogGrew():
                    self._ring(self._log)
                case EventPublished():
                    self._ring(self._log)
                    for name in change.consumers:
                        self._ring(self._consumers.get(name, set()))
                case ThreadWaits():
                    self._ring(self._consumers.get(change.consumer, set()))
                case _:
                    pass

    @contextmanager
    def hear_log(self) -> Iterator[asyncio.Event]:
        """Rings when the log has grown."""
        bell = asyncio.Event()
        self._log.add(bell)
        try:
            yield bell
        finally:
            self._log.discard(bell)

    @contextmanager
    def hear_consumer(self, name: str) -> Iterator[asyncio.Event]:
        """Rings when something waits for this consumer."""
        bell = asyncio.Event()
        self._consumers.setdefault(name, set()).add(bell)
        try:
            yield bell
        finally:
            self._consumers[name].discard(bell)
            if not self._consumers[name]:
                del self._consumers[name]

    def _ring(self, bells: set[asyncio.Event]) -> None:
        for bell in bells:
            bell.set()
