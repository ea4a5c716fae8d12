"""What a test may tell a relay to do at each stage, and what there is to look at afterwards (relay.py tells of both)."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field


EXTENSIONS = (
    "PIPELINING",
    "SIZE 26214400",
    "8BITMIME",
    "SMTPUTF8",
    "DSN",
    "ENHANCEDSTATUSCODES",
)


class Reply:
    """Lines of a reply."""

    def __init__(self, *lines: str) -> None:
        self.wire = "".join(f"{line}\r\n" for line in lines).encode()
        self.is_good = lines[-1][:1] in "23"


class Raw:
    """Bytes as they are; `is_good` = the stage counts as done."""

    def __init__(self, wire: bytes, *, is_good: bool = True) -> None:
        self.wire = wire
        self.is_good = is_good


@dataclass(frozen=True)
class Drop:
    """Close the connection."""

    is_reset: bool = False


@dataclass(frozen=True)
class Delay:
    """Wait for so many seconds."""

    seconds: float


class Hold:
    """Wait until somebody calls `release()`."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.is_reached = False

    def release(self) -> None:
        self.event.set()


@dataclass(frozen=True)
class Default:
    """What the server would have said."""


Action = Reply | Raw | Drop | Delay | Hold | Default


@dataclass
class Connection:
    """One connection, as the server saw it."""

    number: int
    received: bytearray = field(default_factory=bytearray)
    commands: list[str] = field(default_factory=list)
    is_tls: bool = False
    is_open: bool = True
    username: str | None = None
    hello: str = ""


@dataclass
class Transaction:
    """One MAIL and what followed it."""

    connection: Connection
    sender: str
    mail_parameters: list[str]
    recipients: list[str] = field(default_factory=list)
    rcpt_parameters: list[str] = field(default_factory=list)
    content: bytes | None = None
    is_whole: bool = False
    reply: bytes | None = None

    @property
    def may_be_delivered(self) -> bool:
        return (
            self.is_whole
            and bool(self.recipients)
            and (self.reply is None or self.reply[:1] == b"2")
        )


@dataclass
class Rule:
    actions: tuple[Action, ...]
    recipient: str | None
    left: float
    after_bytes: int


class RelayScript:
    """What a relay offers and is told to do, and what it has seen."""

    def __init__(
        self,
        extensions: tuple[str, ...],
        tls: ssl.SSLContext | None,
        credentials: tuple[str, str] | None,
        auth: tuple[str, ...],
        *,
        has_ehlo: bool,
    ) -> None:
        self.extensions = extensions
        self.has_ehlo = has_ehlo
        self.tls = tls
        self.credentials = credentials
        self.auth = auth
        self.connections: list[Connection] = []
        self.transactions: list[Transaction] = []
        self._rules: dict[str, list[Rule]] = {}
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()

    def on(
        self,
        stage: str,
        *actions: Action,
        recipient: str | None = None,
        times: int | None = None,
        after_bytes: int = 0,
    ) -> None:
        """From now on do these actions at this stage."""
        left = float("inf") if times is None else times
        self._rules.setdefault(stage, []).append(Rule(actions, recipient, left, after_bytes))

    def clear(self) -> None:
        """Forget the script."""
        self._rules.clear()

    def copies(self, recipient: str) -> int:
        """How many copies this recipient may get."""
        return sum(recipient in t.recipients and t.may_be_delivered for t in self.transactions)

    async def until(self, condition: Callable[[], bool], timeout_s: float = 5) -> None:
        """Wait until something that came made this true. Raises TimeoutError."""
        async with asyncio.timeout(timeout_s):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def changed(self) -> None:
        """Wake who waits in `until`."""
        self._changed.set()

    def take(self, stage: str, recipients: list[str]) -> Rule | None:
        """The rule for this stage, one of its times used up."""
        for rule in self._rules.get(stage, ()):
            if rule.left > 0 and (rule.recipient is None or rule.recipient in recipients):
                rule.left -= 1
                return rule
        return None

    async def wait(self, event: asyncio.Event, seconds: float | None) -> None:
        """Wait for the event, but never beyond the relay's own end."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()

    async def pause(self, seconds: float) -> None:
        """Let time pass."""
        await self.wait(self._stopping, seconds)
