"""One port of the scripted relay: what it is to do at each stage of a dialogue, and what it was given.

Everything here may be called from any thread.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from enum import StrEnum


class Stage(StrEnum):
    """Where a dialogue is, by what the relay has to say or read next."""

    CONNECT = "connect"
    EHLO = "ehlo"
    MAIL = "mail"
    RCPT = "rcpt"
    DATA = "data"
    BODY = "body"
    DOT = "dot"


@dataclass(frozen=True, slots=True)
class Say:
    """Say this line in place of the usual reply."""

    line: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Let so many seconds pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Say and read nothing until the door says go on; where it clears its script instead, hang up."""


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close the connection."""


Act = Say | Wait | Hold | HangUp


@dataclass(slots=True)
class Handed:
    """A mail whose final dot came. `reply` is what was answered to it; '' = nothing (yet)."""

    recipient: str
    sender: str
    content: bytes
    reply: str = ""

    @property
    def is_copy(self) -> bool:
        """Whether its recipient may get it: nobody said no."""
        return self.reply[:1] in {"", "2"}

    @property
    def message(self) -> Message:
        """What it says, read."""
        return BytesParser().parsebytes(self.content)


@dataclass(slots=True)
class _Rule:
    stage: Stage
    acts: tuple[Act, ...]
    recipient: str | None
    left: float


@dataclass(frozen=True, slots=True)
class _Held:
    stage: Stage
    recipient: str
    goes_on: "asyncio.Future[bool]"


@dataclass
class Door:
    """The script and the record of one port.

    `on_handed` is called, on the relay's thread, with every mail before its final dot is answered; `begun_at_s` has the
    monotonic moment of every MAIL, `tries` how often RCPT named an address; `most_open` is the most
    connections at once since somebody set it to 0.
    """

    loop: asyncio.AbstractEventLoop
    port: int = 0
    handed: list[Handed] = field(default_factory=list)
    tries: dict[str, int] = field(default_factory=dict)
    begun_at_s: list[float] = field(default_factory=list)
    dialled: int = 0
    now_open: int = 0
    most_open: int = 0
    server: asyncio.Server | None = None
    on_handed: Callable[[Handed], None] | None = None
    _rules: list[_Rule] = field(default_factory=list)
    _held: list[_Held] = field(default_factory=list)

    def on(
        self, stage: Stage, *acts: Act, recipient: str | None = None, times: int | None = None
    ) -> None:
        """From now on do this at this stage; the first rule that fits is taken, as often as `times` says."""
        left = float("inf") if times is None else times
        self._rules.append(_Rule(stage, acts, recipient, left))

    def take(self, stage: Stage, recipient: str) -> tuple[Act, ...]:
        """What is to be done now; a time of the rule is used up."""
        for rule in tuple(self._rules):
            fits = rule.stage is stage and rule.recipient in {None, recipient}
            if fits and rule.left > 0:
                rule.left -= 1
                return rule.acts
        return ()

    def count_held(self, stage: Stage, recipient: str | None = None) -> int:
        """How many dialogues stand still at this stage, of all recipients or of one."""
        held = tuple(self._held)
        return sum(one.stage is stage and recipient in {None, one.recipient} for one in held)

    def go_on(self) -> None:
        """Let every dialogue that stands still go on."""
        self._end_holds(goes_on=True)

    def hang_up(self) -> None:
        """End every dialogue that stands still."""
        self._end_holds(goes_on=False)

    def clear(self) -> None:
        """Forget the script, and end every dialogue that stands still."""
        self._rules.clear()
        self.hang_up()

    def close(self) -> None:
        """Listen no more, and hang up on who stands still."""
        self.clear()
        if self.server is not None:
            self.loop.call_soon_threadsafe(self.server.close)

    def copies(self, recipient: str) -> int:
        """How many mails this recipient may get."""
        return sum(one.is_copy and one.recipient == recipient for one in tuple(self.handed))

    async def hold(self, stage: Stage, recipient: str) -> bool:
        """Stand still, on the relay's own thread; whether to go on."""
        held = _Held(stage, recipient, self.loop.create_future())
        self._held.append(held)
        try:
            return await held.goes_on
        finally:
            self._held.remove(held)

    def _end_holds(self, *, goes_on: bool) -> None:
        for held in tuple(self._held):
            self.loop.call_soon_threadsafe(_end, held.goes_on, goes_on)


def _end(future: "asyncio.Future[bool]", goes_on: bool) -> None:  # noqa: FBT001 - call_soon passes no names
    if not future.done():
        future.set_result(goes_on)
