"""What a session has said so far about who it is and which mail comes: EHLO, MAIL, RCPT (RFC 5321 §3.3).

Rules: every recipient is judged when it is named, so that nothing is ever bounced after 250; addresses that are not ours
are refused, whoever asks: this server relays nothing (HAZARDS S7).
"""

from typing import Final

from postroom.core.address import read_address
from postroom.core.inaddress import KeyLost, Ours, Unknown
from postroom.core.job import Address
from postroom.core.words import shown
from postroom.inbound.door import Guest
from postroom.inbound.forwarded import NOTHING, read_forwarded
from postroom.inbound.parts import Parts
from postroom.inbound.paths import Path, read_path
from postroom.inbound.receiving import Envelope
from postroom.inbound.words import OK, Reply
from postroom.ports.arriving import ArrivalRecipient


_LONGEST_NAME: Final = 255  # RFC 1035 §2.3.4; what a client calls itself is cut to that
_BODIES: Final = frozenset({"7BIT", "8BITMIME"})
_LONGEST_SIZE: Final = 20  # digits, RFC 1870 §4
_POSTMASTER: Final = "postmaster"  # the one address that needs no domain, RFC 5321 §4.5.1


class Transaction:
    """The envelope as it grows. `helo` '' = nobody has said hello; `sender` None = there is no MAIL yet."""

    def __init__(self, parts: Parts) -> None:
        self.helo = ""
        self.sender: str | None = None
        self.forwarded = NOTHING
        self._parts = parts
        self._is_utf8 = False
        self._recipients: dict[str, ArrivalRecipient] = {}

    @property
    def recipients(self) -> tuple[ArrivalRecipient, ...]:
        """Those that were accepted, each once."""
        return tuple(self._recipients.values())

    def greet(self, name: str) -> None:
        """Begin anew, with this name."""
        seen = "".join(one if one.isprintable() else "?" for one in name[: _LONGEST_NAME + 1])
        self.helo = shown(seen, _LONGEST_NAME)
        self.forget()

    def forget(self) -> None:
        """No mail is under way, and nothing is known of whom the next one is from."""
        self.sender = None
        self.forwarded = NOTHING
        self._recipients = {}

    def forward(self, argument: str | None) -> str:
        """XFORWARD: what a trusted relay says of the client of the next mail; it holds for that one alone."""
        if self.sender is not None:
            return Reply.MAIL_TWICE
        said = read_forwarded(argument, self.forwarded)
        if said is None:
            return Reply.BAD_ARGUMENT
        self.forwarded = said
        return OK

    def mail(self, argument: str | None) -> Reply:
        """MAIL FROM."""
        if not self.helo:
            return Reply.HELLO_FIRST
        if self.sender is not None:
            return Reply.MAIL_TWICE
        path = read_path("FROM", argument)
        refused = Reply.BAD_ARGUMENT if path is None else self._refuse_parameters(path)
        if path is None or refused is not None:
            return refused or Reply.BAD_ARGUMENT
        self.sender = path.address
        self._is_utf8 = "SMTPUTF8" in path.parameters
        return Reply.MAIL_OK

    def rcpt(self, argument: str | None) -> Reply:
        """RCPT TO."""
        if self.sender is None:
            return Reply.MAIL_FIRST
        path = read_path("TO", argument)
        if path is None or not path.address:
            return Reply.BAD_ARGUMENT
        if path.parameters:
            return Reply.BAD_PARAMETER
        if path.needs_utf8 and not self._is_utf8:
            return Reply.NEEDS_UTF8
        if len(self._recipients) >= self._parts.limits.recipients:
            return Reply.TOO_MANY_RECIPIENTS
        return self._add(path.address)

    def refuse_data(self, argument: str | None) -> Reply | None:
        """Why there can be no content yet; None when there can."""
        if argument is not None:
            return Reply.BAD_ARGUMENT
        if self.sender is None:
            return Reply.MAIL_FIRST
        return None if self._recipients else Reply.RCPT_FIRST

    def envelope(self, guest: Guest, *, is_tls: bool) -> Envelope:
        """What was said, and who said it: the client that a trusted relay had it from, where it names one."""
        client_ip, helo = self.forwarded.client_ip, self.forwarded.helo
        return Envelope(
            sender=self.sender or "",
            recipients=self.recipients,
            client_ip=client_ip or guest.ip,
            helo=(helo or "") if client_ip else self.helo,
            is_tls=is_tls,
            is_trusted=guest.is_trusted,
            relay_ip=guest.ip if client_ip else None,
        )

    def _refuse_parameters(self, path: Path) -> Reply | None:
        given = path.parameters
        if not given.keys() <= {"SIZE", "BODY", "SMTPUTF8"}:
            return Reply.BAD_PARAMETER
        size = given.get("SIZE", "0")
        is_size = size.isascii() and size.isdecimal() and len(size) <= _LONGEST_SIZE
        is_body = given.get("BODY", "7BIT").upper() in _BODIES
        if not (is_size and is_body) or given.get("SMTPUTF8"):
            return Reply.BAD_ARGUMENT
        if path.needs_utf8 and "SMTPUTF8" not in given:
            return Reply.NEEDS_UTF8
        return Reply.TOO_BIG if int(size) > self._parts.settings.max_message_bytes else None

    def _add(self, written: str) -> Reply:
        parts = self._parts
        if written.lower() == _POSTMASTER and parts.settings.domains:
            written = f"{written}@{parts.settings.domains[0]}"
        address = read_address(written)
        if not isinstance(address, Address):
            return Reply.BAD_ADDRESS
        spec = address.address
        match parts.book.find(spec, parts.clock.now()):
            case Ours(mailbox_id, token):
                recipient = ArrivalRecipient(spec, mailbox_id, token)
                self._recipients.setdefault(spec.lower(), recipient)
                return Reply.RCPT_OK
            case KeyLost():
                return Reply.KEY_LOST
            case Unknown(is_foreign):
                return Reply.FOREIGN if is_foreign else Reply.UNKNOWN
