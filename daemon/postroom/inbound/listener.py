"""The listener: mail from the world comes in here, on TCP addresses of ours and on sockets that systemd hands over.

Rules: it lives in the daemon's own loop and never holds it up; who is over a bound is told 421 and shut out before
anything is made for it, or gets the place of who has long done nothing; a stop says 421 to those who are idle and lets
messages that are coming in end.
"""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from dataclasses import replace
from errno import EADDRINUSE
from typing import cast

from postroom.core.instant import SECOND
from postroom.core.listening import Listening
from postroom.inbound.door import Door, Guest
from postroom.inbound.parts import Parts
from postroom.inbound.receiving import Receiver
from postroom.inbound.session import Session
from postroom.inbound.words import Reply
from postroom.ops.plainfile import check_plain
from postroom.ports.errors import AlreadyRunning, ConfigError, SettingProblem


class Listener:
    """All sessions. `group` runs what has to end even when its client is gone; it must outlive the listener."""

    def __init__(self, parts: Parts, group: asyncio.TaskGroup) -> None:
        self.parts = parts
        self.receiver = Receiver(parts, group)
        self._door = Door(parts.limits, parts.settings.trusted_relays, parts.clock)
        self._context = make_context(parts.settings)
        self._servers: list[asyncio.Server] = []
        self._sessions: set[Session] = set()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    @property
    def under_way(self) -> int:
        """How many messages are coming in right now."""
        return self.receiver.under_way

    @property
    def sessions(self) -> int:
        """How many clients it talks with now."""
        return len(self._sessions)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where it listens, as `host:port`."""
        names = [each.getsockname() for server in self._servers for each in server.sockets]
        return tuple(f"{name[0]}:{name[1]}" for name in names)

    async def start(self, sockets: Sequence[socket.socket] = ()) -> None:
        """Listen on the addresses of the settings and on these sockets.

        Raises: ConfigError when that can not be; AlreadyRunning when another program listens there.
        """
        loop = asyncio.get_running_loop()
        places = self.parts.settings.listen
        if not places and not sockets:
            raise ConfigError(
                _problem("is empty.", "Name an address, or use postroom-smtp.socket.")
            )
        for handed in sockets:
            self._servers.append(await loop.create_server(self._step, sock=handed))
        for place in places:
            try:
                server = await loop.create_server(self._step, place.host, place.port)
            except OSError as error:
                await self.close()
                if error.errno == EADDRINUSE:
                    message = f"{place.host} port {place.port}: another program listens there."
                    raise AlreadyRunning(message) from error
                wrong = f"holds {place.host} port {place.port}, which can not be listened on: {error.strerror}."
                fix = "Use an address of this host; below port 1024 use postroom-smtp.socket."
                raise ConfigError(_problem(wrong, fix)) from error
            self._servers.append(server)
        self.parts.chronicle.listener_ready(self.addresses, has_tls=self._context is not None)

    def switch(self, settings: Listening, context: ssl.SSLContext | None) -> None:
        """Go by other settings from the next connection on; it goes on listening where it does."""
        self.parts = replace(self.parts, settings=settings)
        self.receiver.switch(self.parts)
        self._door.trust(settings.trusted_relays)
        self._context = context

    async def drain(self, seconds: float) -> None:
        """Take no new connections, end the idle ones, and wait so long for the others."""
        self._close_servers()
        for session in tuple(self._sessions):
            session.stop()
        try:
            async with asyncio.timeout(seconds):
                await self._is_empty.wait()
        except TimeoutError:
            return

    async def close(self) -> None:
        """Hang up on whoever is left."""
        self._close_servers()
        for session in tuple(self._sessions):
            session.abort()

    def asked_for_unknown(self, guest: Guest) -> bool:
        """Note that it asked for somebody who is not here; whether the answer is to be slow."""
        return self._door.asked_for_unknown(guest)

    def left(self, session: Session) -> None:
        """A session is over, or as good as."""
        if session not in self._sessions:
            return
        self._sessions.remove(session)
        self._door.leave(session.guest)
        if not self._sessions:
            self._is_empty.set()

    def _make_room(self, are_exempt_meant: bool) -> bool:  # noqa: FBT001 - as the door asks for it
        """Send the one away, of those who are meant, that has been longest without a step towards a mail; whether there was one."""
        longest = self.parts.clock.monotonic() - int(self.parts.limits.crowded_s * SECOND)
        idle = [
            (since, session)
            for session in self._sessions
            if (since := session.turns.idle_since) is not None
            and since <= longest
            and (session.guest.is_exempt or not are_exempt_meant)
        ]
        if not idle:
            return False
        _, oldest = min(idle, key=lambda one: one[0])
        self.parts.refused(Reply.ROOM_NEEDED.refusal)
        self.parts.chronicle.client_refused(oldest.guest.ip, Reply.ROOM_NEEDED)
        self.left(oldest)
        oldest.end(Reply.ROOM_NEEDED)
        return True

    def _close_servers(self) -> None:
        for server in self._servers:
            server.close()

    def _step(self) -> "_Doorstep":
        return _Doorstep(self)

    def welcome(self, transport: asyncio.Transport) -> None:
        """Begin a session with who is at the other end, or send it away."""
        peer = transport.get_extra_info("peername")
        if not peer:  # gone before we looked
            transport.abort()
            return
        guest = self._door.enter(peer[0], self._make_room)
        if isinstance(guest, Reply):
            self.parts.refused(guest.refusal)
            self.parts.chronicle.client_refused(peer[0], guest)
            transport.write(f"{guest}\r\n".encode())
            transport.close()
            return
        session = Session(self, guest, self._context)
        self._sessions.add(session)
        self._is_empty.clear()
        transport.set_protocol(session)
        session.connection_made(transport)


class _Doorstep(asyncio.Protocol):
    """A connection before it is known whether it may come in: that costs next to nothing."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let it in, or send it away."""
        self._listener.welcome(cast(asyncio.Transport, transport))


def make_context(settings: Listening) -> ssl.SSLContext | None:
    """For STARTTLS. Raises: ConfigError when the files are not there any more."""
    certificate, key = settings.tls_certificate, settings.tls_key
    if certificate is None or key is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        check_plain(certificate, key)
        context.load_cert_chain(certificate, key)
    except OSError as error:
        wrong = f"can not be used: {error}."
        raise ConfigError(_problem(wrong, "Check both files.", "tls_certificate")) from error
    return context


def _problem(wrong: str, fix: str, key: str = "listen") -> SettingProblem:
    return SettingProblem("[listener]", key, wrong, fix)
