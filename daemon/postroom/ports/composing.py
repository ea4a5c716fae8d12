"""How an attempt gets the bytes of its message."""

from collections.abc import AsyncIterator, Callable
from typing import Protocol

from postroom.core.body import Body
from postroom.core.reason import ReasonCode


class Composer(Protocol):
    """Puts Date line, head and body together."""

    async def check_pins(self, body: Body) -> ReasonCode | None:
        """Why a pinned attachment can not be sent: `attachment_missing` or `attachment_changed`; None = all are well.

        Raises: StoreUnavailable when that can not be told now.
        """
        ...

    def content(
        self, date_line: bytes, head: bytes, body: Body
    ) -> Callable[[], AsyncIterator[bytes]]:
        """The message in wire pieces of at most 256 KiB, dot-stuffed, ending in CRLF; may be asked for again."""
        ...
