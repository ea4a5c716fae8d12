"""Dials a relay: connect, TLS, EHLO, login. The only door to aiosmtplib.

Each connection gets a client object of its own. It dials, and is never called again once its transport is ours: its own
reader loses pipelined replies. Every address of the host is tried up to the greeting before that is a fault. TLS is what
the configuration says and never what the relay says; certificates and names are always checked. One mechanism is tried
at the login, once: three wrong passwords for one connection lock accounts. Nothing here tells the password, not even
where a relay sends it back. TLS trouble has the stage `starttls`, also where TLS is implicit.

Known limits: up to the login replies are read by aiosmtplib, which takes the last code of a reply with several.
"""

import asyncio
import base64
import contextlib
import os
import socket
import ssl
from collections.abc import Awaitable
from typing import Final, cast

import aiosmtplib

from postroom.core.mailbox import Relay, Tls
from postroom.core.reply import SmtpReply, Stage
from postroom.ops.plainfile import check_plain
from postroom.outbound.commands import read_offer
from postroom.outbound.dialogue import Connection
from postroom.outbound.names import Address, find_addresses
from postroom.outbound.replies import make_reply
from postroom.outbound.timeouts import Timeouts
from postroom.outbound.wire import Wire
from postroom.ports.errors import RelayFault


_MECHANISMS: Final = (
    "plain",
    "login",
    "cram-md5",
)  # under TLS all are as good; this order is the most supported
_ORDER: Final = tuple(Stage)


class Dialer:
    """Makes connections to one relay. `host_name` is what we call ourselves in EHLO."""

    def __init__(self, relay: Relay, timeouts: Timeouts, host_name: str) -> None:
        self._relay = relay
        self._timeouts = timeouts
        self._host_name = host_name
        self._tls: ssl.SSLContext | None = None

    async def dial(self) -> Connection:
        """A connection that is greeted, encrypted and logged in.

        Raises: RelayFault
        """
        try:
            async with asyncio.timeout(self._timeouts.dial.total_seconds()):
                addresses = await find_addresses(self._relay)
                client = await self._greet_any(addresses)
                return await self._log_in(client)
        except TimeoutError:
            fault = RelayFault(Stage.CONNECT, "no connection within the time that a dial may take")
        raise fault

    async def _greet_any(self, addresses: tuple[Address, ...]) -> aiosmtplib.SMTP:
        faults: list[RelayFault] = []
        for address in addresses:
            try:
                return await self._greet(address)
            except RelayFault as fault:
                faults.append(fault)
        furthest = max(faults, key=lambda fault: _ORDER.index(fault.stage))
        detail = "; ".join(dict.fromkeys(fault.detail for fault in faults))
        raise RelayFault(furthest.stage, detail[:1024], furthest.reply)

    async def _greet(self, address: Address) -> aiosmtplib.SMTP:
        sock = await self._open(address)
        try:
            client = self._make_client(sock, await self._find_tls())
        except BaseException:
            sock.close()
            raise
        within = self._timeouts.greeting.total_seconds()
        await _step(Stage.GREETING, client.connect(timeout=within), self._relay)
        return client

    async def _open(self, address: Address) -> socket.socket:
        family, place = address
        with contextlib.ExitStack() as undo:
            try:
                # In here: a host may have no sockets left, and must not end with that.
                sock = undo.enter_context(socket.socket(family, socket.SOCK_STREAM))
                sock.setblocking(False)  # noqa: FBT003
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                async with asyncio.timeout(self._timeouts.connect.total_seconds()):
                    await asyncio.get_running_loop().sock_connect(sock, place)
            except OSError as error:  # TimeoutError is one
                text = os.strerror(error.errno) if error.errno else "no answer in time"
                fault = RelayFault(Stage.CONNECT, f"{place[0]!s} port {self._relay.port}: {text}")
            else:
                undo.pop_all()
                return sock
        raise fault

    def _make_client(self, sock: socket.socket, context: ssl.SSLContext | None) -> aiosmtplib.SMTP:
        return aiosmtplib.SMTP(
            hostname=self._relay.host,
            sock=sock,
            local_hostname=_own_name(self._host_name, sock),
            timeout=self._timeouts.command.total_seconds(),
            use_tls=self._relay.tls is Tls.IMPLICIT,
            start_tls=False,
            tls_context=context,
        )

    async def _find_tls(self) -> ssl.SSLContext | None:
        if self._relay.tls is Tls.NONE or self._tls is not None:
            return self._tls
        try:
            self._tls = await asyncio.to_thread(_make_tls, self._relay.tls_ca)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            fault = RelayFault(Stage.STARTTLS, f"tls_ca {self._relay.tls_ca}: {reason}")
        else:
            return self._tls
        raise fault

    async def _log_in(self, client: aiosmtplib.SMTP) -> Connection:
        try:
            await self._say_hello(client)
            if self._relay.tls is Tls.STARTTLS:
                await self._start_tls(client)
            if self._relay.username is not None:
                await self._authenticate(client)
            return _take_over(client)
        except BaseException:
            _abort(client)
            raise

    async def _say_hello(self, client: aiosmtplib.SMTP) -> None:
        """EHLO, or HELO for a relay that does not know EHLO (RFC 5321 §3.2)."""
        try:
            await _step(Stage.EHLO, client.ehlo(), self._relay)
        except RelayFault as fault:
            if fault.reply is None or fault.reply.code < 500:  # noqa: PLR2004
                raise
            if not client.is_connected:
                raise
        else:
            return
        await _step(Stage.EHLO, client.helo(), self._relay)

    async def _start_tls(self, client: aiosmtplib.SMTP) -> None:
        if not client.supports_extension("starttls"):
            detail = "the relay does not offer STARTTLS, and nothing goes out in clear text"
            raise RelayFault(Stage.STARTTLS, detail)
        await _step(Stage.STARTTLS, client.starttls(), self._relay)
        await self._say_hello(client)

    async def _authenticate(self, client: aiosmtplib.SMTP) -> None:
        offered = client.server_auth_methods
        mechanism = next((name for name in _MECHANISMS if name in offered), None)
        name, password = self._relay.username or "", self._relay.password or ""
        match mechanism:
            case "plain":
                login = client.auth_plain(name, password)
            case "login":
                login = client.auth_login(name, password)
            case "cram-md5":
                login = client.auth_crammd5(name, password)
            case _:
                detail = "the relay offers none of AUTH PLAIN, LOGIN and CRAM-MD5"
                raise RelayFault(Stage.AUTH, detail)
        await _step(Stage.AUTH, login, self._relay)


async def _step(stage: Stage, doing: Awaitable[object], relay: Relay) -> None:
    """Do it, and translate what goes wrong. Nothing is chained: a traceback's frames know the password."""
    try:
        await doing
    except (aiosmtplib.SMTPException, OSError, ValueError) as error:
        fault = _translate(stage, error, relay)
    else:
        return
    raise fault


def _translate(stage: Stage, error: Exception, relay: Relay) -> RelayFault:
    match error:
        case aiosmtplib.SMTPResponseException() if 200 <= error.code < 600:  # noqa: PLR2004
            reply = _read_reply(error, relay)
            return RelayFault(stage, f"the relay said {reply.code} {reply.text}", reply)
        case aiosmtplib.SMTPResponseException():
            return RelayFault(stage, "malformed reply")
        case aiosmtplib.SMTPConnectError() if _is_handshake(error):
            detail = _describe_tls(error.__cause__)
            return RelayFault(Stage.STARTTLS if relay.tls is Tls.IMPLICIT else stage, detail)
        case TimeoutError():
            return RelayFault(stage, "no answer in time")
        case ConnectionError():
            return RelayFault(stage, "the relay closed the connection")
        case ssl.SSLError():
            return RelayFault(stage, _describe_tls(error))
        case _:
            return RelayFault(stage, f"the dialogue failed: {type(error).__name__}")


def _is_handshake(error: aiosmtplib.SMTPConnectError) -> bool:
    """Whether connect() failed before it waited for the greeting, so in the TLS handshake."""
    return not isinstance(error.__cause__, aiosmtplib.SMTPException)


def _describe_tls(error: BaseException | None) -> str:
    match error:
        case ssl.SSLCertVerificationError():
            return f"TLS: the certificate is not accepted: {error.verify_message}"
        case ssl.SSLError():
            return f"TLS: {(error.reason or 'handshake failed').replace('_', ' ').lower()}"
        case TimeoutError() | ConnectionAbortedError():
            return "TLS: the handshake was not finished in time"
        case _:
            return "TLS: the relay closed the connection in the handshake"


def _read_reply(error: aiosmtplib.SMTPResponseException, relay: Relay) -> SmtpReply:
    """The reply in an exception of aiosmtplib, which keeps other bytes than UTF-8 as surrogates."""
    raw = error.message.encode("utf-8", "surrogateescape")
    for secret in _secrets(relay):
        raw = raw.replace(secret, b"(hidden)")
    texts = raw.split(b"\n")
    signs = [b"-"] * (len(texts) - 1) + [b" "]
    code = str(error.code).encode()
    lines = (code + sign + text + b"\r\n" for sign, text in zip(signs, texts, strict=True))
    return make_reply(error.code, texts, b"".join(lines))


def _secrets(relay: Relay) -> tuple[bytes, ...]:
    """Every form in which the login went over the wire, the longest first."""
    if not relay.password:
        return ()
    password = relay.password.encode()
    whole = b"\0" + (relay.username or "").encode() + b"\0" + password
    return base64.b64encode(whole), base64.b64encode(password), password


def _make_tls(tls_ca: str | None) -> ssl.SSLContext:
    """Our terms: certificate and name checked, TLS 1.2 or later; with `tls_ca` nobody but that CA is trusted."""
    if tls_ca is not None:
        check_plain(tls_ca)
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=tls_ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _own_name(host_name: str, sock: socket.socket) -> str:
    """The name for EHLO: a full one, else our address as a literal (RFC 5321 §4.1.4)."""
    if "." in host_name and host_name.isascii():
        return host_name
    address = str(sock.getsockname()[0])
    return f"[IPv6:{address.partition('%')[0]}]" if ":" in address else f"[{address}]"


def _take_over(client: aiosmtplib.SMTP) -> Connection:
    """Make the client's transport ours."""
    protocol, transport = client.protocol, client.transport
    if protocol is None or transport is None or transport.is_closing():
        raise RelayFault(Stage.EHLO, "the relay closed the connection")
    if protocol._buffer:  # noqa: SLF001  # no public way to ask; a test watches it
        raise RelayFault(Stage.EHLO, "the relay said more than it was asked")
    return Connection(
        Wire(cast("asyncio.Transport", transport)), read_offer(client.esmtp_extensions)
    )


def _abort(client: aiosmtplib.SMTP) -> None:
    if client.transport is not None:
        cast("asyncio.Transport", client.transport).abort()
    with contextlib.suppress(aiosmtplib.SMTPException):
        client.close()
