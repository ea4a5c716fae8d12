"""A relay on loopback that does as it is told and remembers what it was given: for the selftest and the demo.

    relay = Relay(Host())
    relay.start()
    door = relay.open()
    door.on(Stage.RCPT, Say("550 5.1.1 User unknown"), recipient="gone@example.com")
    door.on(Stage.DOT, Hold(), times=1)       # no answer to one final dot until `door.go_on()` or `door.clear()`
    ...                                       # a daemon sends through 127.0.0.1, door.port
    door.copies("ann@example.com")            # what she may have got
    relay.stop()

Without a script it takes every mail; it delivers nothing to anyone. It runs in a thread of its own.
"""

import asyncio
import socket
import threading
from typing import Final

from postroom.client.host import Host
from postroom.selftest.door import Door
from postroom.selftest.talk import Talk


HOST: Final = "127.0.0.1"

_START_S: Final = 5.0
_UNREAD_BYTES: Final = (
    64 * 1024
)  # what the kernel keeps of a body that nobody reads; else it is megabytes, as it likes


class Relay:
    """The server: as many ports as are asked for."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None
        self._servers: list[asyncio.Server] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)

    def start(self) -> None:
        """Have a loop to listen in."""
        self._thread.start()
        if not self._ready.wait(_START_S):
            problem = "the relay did not start"
            raise OSError(problem)

    def open(self) -> Door:
        """One more port, which the kernel chooses."""
        if self._loop is None:
            problem = "the relay is not started"
            raise OSError(problem)
        return asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(_START_S)

    def stop(self) -> None:
        """Close every connection and end the thread."""
        if self._loop is not None and self._over is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(_START_S)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._ready.set()
        await self._over.wait()
        for server in self._servers:
            server.close()

    async def _listen(self) -> Door:
        door = Door(asyncio.get_running_loop())

        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            door.dialled += 1
            door.now_open += 1
            door.most_open = max(door.most_open, door.now_open)
            try:
                await Talk(door, self._host, reader, writer).run()
            finally:
                door.now_open -= 1

        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _UNREAD_BYTES)
        listening.bind((HOST, 0))
        server = await asyncio.start_server(speak, sock=listening)
        door.port = server.sockets[0].getsockname()[1]
        door.server = server
        self._servers.append(server)
        return door
