"""The bytes of a message, for whoever asks to see them."""

from collections.abc import AsyncIterator

from postroom.core.message import date_line
from postroom.outbound.compose import SpoolComposer
from postroom.ports.desk import Reader


class MessagesView:
    """Implements ports.loop.Messages."""

    def __init__(self, reader: Reader, composer: SpoolComposer) -> None:
        self._reader = reader
        self._composer = composer

    async def find_message(self, number: int) -> AsyncIterator[bytes] | None:
        """The message of a delivery as it went or is going to go; before its first attempt it has no Date."""
        raw = await self._reader.find_raw(number)
        body = None if raw is None else await self._reader.find_body(raw.body_number)
        if raw is None or body is None:
            return None
        date = b"" if raw.date_at is None else date_line(raw.date_at)
        return self._composer.plain(date, raw.head, body)
