"""The demo's relay: it behaves like real ones on the internet, and remembers what it was given.

It takes a moment for every mail, turns one address away twice before it accepts it (as greylisting does), refuses one
that was deleted, and hangs up once in the middle of a conversation.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from postroom.client.host import Host
from postroom.selftest.door import Handed, HangUp, Say, Stage, Wait
from postroom.selftest.relay import Relay as Scripted


BUSY: Final = "ops@example.com"
DELETED: Final = "old.manager@example.com"
CUT_OFF: Final = "ceo@example.com"

_TURNED_AWAY: Final = 2
_TAKES_S: Final = 0.15  # what a relay on the internet needs for a mail, at its fastest


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
    """The scripted relay, with the demo's script."""

    def __init__(self) -> None:
        self.port = 0
        self.mails: list[Mail] = []
        self.tries: dict[str, int] = {}
        self._scripted = Scripted(Host())

    def start(self) -> None:
        """Listen on a port that the kernel chooses."""
        self._scripted.start()
        door = self._scripted.open()
        door.on(Stage.RCPT, Say("451 Try again later"), recipient=BUSY, times=_TURNED_AWAY)
        door.on(Stage.RCPT, Say("550 5.1.1 User unknown"), recipient=DELETED)
        door.on(Stage.RCPT, HangUp(), recipient=CUT_OFF, times=1)
        door.on(Stage.DOT, Wait(_TAKES_S))
        door.on_handed = self._remember
        self.tries = door.tries
        self.port = door.port

    def stop(self) -> None:
        """Close every connection and end the thread."""
        self._scripted.stop()

    def copies(self, recipient: str) -> int:
        """How many mails for this address it accepted."""
        return sum(mail.recipient == recipient for mail in self.mails)

    def _remember(self, handed: Handed) -> None:
        message = handed.message
        files = (part for part in message.walk() if part.get_filename())
        digests = (hashlib.sha256(bytes(part.get_payload(decode=True) or b"")) for part in files)
        digest = next((found.hexdigest() for found in digests), None)
        subject, reply_to, in_reply_to = (
            str(message[name] or "") for name in ("Subject", "Reply-To", "In-Reply-To")
        )
        self.mails.append(
            Mail(handed.recipient, subject, digest, reply_to, handed.sender, in_reply_to)
        )
