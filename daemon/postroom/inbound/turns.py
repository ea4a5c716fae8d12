"""Whose turn it is in a session, and since when it has come no nearer to a mail: who holds a place for nothing is known by it."""

from collections.abc import Awaitable
from typing import Final, TypeVar

from postroom.inbound.words import Reply
from postroom.ports.host import Clock


T = TypeVar("T")

_STEPS: Final = frozenset({Reply.MAIL_OK, Reply.RCPT_OK})


class Turns:
    """Those of one session."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stepped_at = clock.monotonic()
        self._is_clients = False

    @property
    def idle_since(self) -> int | None:
        """When it last came nearer to a mail, on the monotonic clock; None where the client waits for us, or content comes."""
        return self._stepped_at if self._is_clients else None

    def answered(self, words: str) -> None:
        """This was the answer to a command."""
        if words in _STEPS:
            self.step()

    def step(self) -> None:
        """It came nearer to a mail."""
        self._stepped_at = self._clock.monotonic()

    async def wait_for(self, doing: Awaitable[T]) -> T:
        """What comes of it; until then it is the client's turn."""
        self._is_clients = True
        try:
            return await doing
        finally:
            self._is_clients = False
