"""The demo's relay: an SMTP server on loopback that behaves like real ones, and remembers what it was given.

It takes a moment for every mail, turns one address away twice before it accepts it (as greylisting does), refuses one
that was deleted, and hangs up once in the middle of a conversation. It delivers nothing to anyone.
"""

import asyncio
import contextlib
import hashlib
import logging
import threading
from dataclasses import dataclass
from email import message_from_bytes
from typing import Final, cast

from aiosmtpd.smtp import SMTP, Envelope, Session


HOST: Final = "127.0.0.1"
BUSY: Final = "ops@example.com"
DELETED: Final = "old.manager@example.com"
CUT_OFF: Final = "ceo@example.com"

_TURNED_AWAY: Final = 2
_TAKES_S: Final = 0.15  # what a relay on the internet needs for a mail, at its fastest
_START_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail that the relay accepted."""

    recipient: str
    subject: str
    attachment_sha256: str | None
    reply_to: str = ""
    reverse_path: str = ""
    in_reply_to: str = ""


class Relay:
    """The server, in a thread of its own."""

    def __init__(self) -> None:
        self.port = 0
        self.mails: list[Mail] = []
        self.tries: dict[str, int] = {}
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="demo relay", daemon=True)

    def start(self) -> None:
        """Listen on a port that the kernel chooses."""
        # it logs every refusal as a warning, and refusals are what this demo is about
        logging.getLogger("mail.log").setLevel(logging.CRITICAL)
        self._thread.start()
        if not self._ready.wait(_START_S):
            problem = "the demo's relay did not start"
            raise OSError(problem)

    def stop(self) -> None:
        """Close every connection and end the thread."""
        if self._loop is not None and self._over is not None:
            with contextlib.suppress(RuntimeError):  # its loop has ended by itself
                self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(_START_S)

    def copies(self, recipient: str) -> int:
        """How many mails for this address it accepted."""
        return sum(mail.recipient == recipient for mail in self.mails)

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self,
        server: SMTP,
        _session: Session,
        envelope: Envelope,
        address: str,
        options: list[str],
    ) -> str:
        """Judge a recipient."""
        tried = self.tries[address] = self.tries.get(address, 0) + 1
        if address == DELETED:
            return "550 5.1.1 User unknown"
        if address == BUSY and tried <= _TURNED_AWAY:
            return "451 Try again later"
        if address == CUT_OFF and tried == 1:
            # Not asked what it is: those of uvloop derive from nothing of asyncio's.
            cast("asyncio.Transport", server.transport).abort()
            return "421 Bye"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Ok"

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        """Take a mail."""
        await self._pass_time()
        content = envelope.content
        raw = content if isinstance(content, bytes) else b""
        message = message_from_bytes(raw)
        files = (part for part in message.walk() if part.get_filename())
        digests = (hashlib.sha256(bytes(part.get_payload(decode=True) or b"")) for part in files)
        digest = next((found.hexdigest() for found in digests), None)
        subject, reply_to, in_reply_to = (
            str(message[name] or "") for name in ("Subject", "Reply-To", "In-Reply-To")
        )
        self.mails.extend(
            Mail(to, subject, digest, reply_to, envelope.mail_from or "", in_reply_to)
            for to in envelope.rcpt_tos
        )
        return f"250 2.0.0 Ok: queued as DEMO{len(self.mails):03}"

    async def _pass_time(self) -> None:
        if self._over is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), _TAKES_S)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        server = await self._loop.create_server(self._session, HOST, 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._over.wait()
        server.close()

    def _session(self) -> SMTP:
        return SMTP(self, hostname="relay.example", ident="demo relay", loop=self._loop)
