"""A transport that takes what a test lets it take."""

import asyncio


class FakeTransport:
    """Keeps what is written until `take` lets it go, and pauses its protocol as asyncio's do."""

    def __init__(self) -> None:
        self.waiting = 0
        self.written = b""
        self.is_aborted = False
        self._high, self._low = 65_536, 16_384
        self._is_paused = False
        self._protocol: asyncio.Protocol | None = None

    def set_protocol(self, protocol: asyncio.Protocol) -> None:
        self._protocol = protocol

    def set_write_buffer_limits(self, high: int, low: int | None = None) -> None:
        self._high, self._low = high, high // 4 if low is None else low
        self._control()

    def is_closing(self) -> bool:
        return self.is_aborted

    def write(self, data: bytes | memoryview) -> None:
        self.written += data
        self.waiting += len(data)
        self._control()

    def take(self, count: int) -> None:
        self.waiting -= count
        self._control()

    def abort(self) -> None:
        self.is_aborted = True

    def _control(self) -> None:
        assert self._protocol is not None
        if self.waiting > self._high and not self._is_paused:
            self._is_paused = True
            self._protocol.pause_writing()
        elif self.waiting <= self._low and self._is_paused:
            self._is_paused = False
            self._protocol.resume_writing()
