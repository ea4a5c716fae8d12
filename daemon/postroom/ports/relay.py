"""The way to a relay as an attempt sees it: sessions to borrow, and one dialogue for each attempt."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from postroom.core.reply import SmtpReply, Stage


@dataclass(frozen=True, slots=True)
class Envelope:
    """Who it is from ('' = the null reverse-path) and who gets it; `envid` is RFC 3461's, given where DSN is offered.

    `wants_success`: there, the relay is asked to report success, too.
    """

    sender: str
    recipient: str
    envid: str
    size_bytes: int
    is_head_ascii: bool = True
    wants_success: bool = False

    @property
    def needs_smtputf8(self) -> bool:
        """Whether an address has characters beyond ASCII, here or in the header of the message (RFC 6531 §3.1)."""
        return not (self.sender.isascii() and self.recipient.isascii() and self.is_head_ascii)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """How one transaction ended.

    `reply` is the reply that decides, None when there was none; then `fault` says in one safe line what happened
    (connection lost, timeout, malformed reply, desync …). `reached_mail`: MAIL was written. `is_marked`: the mark
    said go. `is_dotted`: the terminator was handed to the transport. `is_stopped`: the mark said no. `is_reusable`:
    the connection may carry another transaction.
    """

    stage: Stage
    reply: SmtpReply | None
    fault: str | None
    reached_mail: bool
    is_marked: bool
    is_dotted: bool
    is_stopped: bool
    is_reusable: bool


@dataclass(frozen=True, slots=True)
class Unfit:
    """The relay can not take this message at all, as its EHLO answer says: too big, or no SMTPUTF8. Nothing was sent."""

    stage: Stage
    detail: str
    is_too_big: bool


class RelaySession(Protocol):
    """A connection that is greeted, encrypted and logged in."""

    async def transact(
        self,
        envelope: Envelope,
        content: Callable[[], AsyncIterator[bytes]],
        mark: Callable[[], Awaitable[bool]],
        on_slow: Callable[[], None],
    ) -> Dialogue | Unfit:
        """One transaction. `content` yields CRLF lines, dot-stuffed, in pieces of at most 256 KiB, ending in CRLF.

        `mark` is awaited after 354, when the content is handed over; the terminator leaves in the loop step in which
        it says True. `on_slow` is called once when the final reply has not come after 30 s.
        """
        ...


class RelayPool(Protocol):
    """The connections of one relay."""

    async def borrow(self) -> RelaySession:
        """An idle session or a new one. Raises RelayFault when none can be made."""
        ...

    def give_back(self, session: RelaySession, *, is_reusable: bool) -> None:
        """Return it, to be kept or closed."""
        ...

    async def close(self) -> None:
        """Close all that are idle, and every session when it comes back."""
        ...
