"""What the delivery loop works with: relays that do what a test says, and an account that remembers."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from postroom.core.admit import Wait
from postroom.core.body import Body
from postroom.core.breaker import Breaker
from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.reason import ReasonCode
from postroom.core.reply import SmtpReply, Stage
from postroom.core.speed import SpeedMoved
from postroom.ports.errors import RelayFault
from postroom.ports.looping import DomainPause, MarkStopped, Outcome, Started, WaitingRow
from postroom.ports.relay import Dialogue, Envelope, Unfit


def reply(code: int, text: str = "") -> SmtpReply:
    """A reply."""
    return SmtpReply(code, None, text, text.encode())


SENT = Dialogue(
    stage=Stage.DOT,
    reply=reply(250, "2.0.0 Ok: queued as 4ABC"),
    fault=None,
    reached_mail=True,
    is_marked=True,
    is_dotted=True,
    is_stopped=False,
    is_reusable=True,
)


def refused(stage: Stage, code: int, text: str = "") -> Dialogue:
    """A transaction that was refused at a stage."""
    return replace(
        SENT, stage=stage, reply=reply(code, text), is_marked=False, is_dotted=stage is Stage.DOT
    )


Script = Callable[[Envelope], Dialogue | RelayFault | Awaitable[Dialogue]]


@dataclass(slots=True)
class FakePool:
    """ports.relay.RelayPool: every session does what `script` says of an envelope; what was transacted is recorded."""

    script: Script = lambda envelope: SENT
    envelopes: list[Envelope] = field(default_factory=list)
    is_slow: bool = False
    borrowed: int = 0
    dials: int = 0

    async def borrow(self) -> "FakePool":
        self.dials += 1
        probe = self.script(Envelope("", "", "", 0))
        if isinstance(probe, RelayFault):
            raise probe
        self.borrowed += 1
        return self

    def give_back(self, session: object, *, is_reusable: bool) -> None:
        self.borrowed -= 1

    async def close(self) -> None:
        return

    async def transact(
        self,
        envelope: Envelope,
        content: Callable[[], AsyncIterator[bytes]],
        mark: Callable[[], Awaitable[bool]],
        on_slow: Callable[[], None],
    ) -> Dialogue | Unfit:
        self.envelopes.append(envelope)
        said = self.script(envelope)
        if isinstance(said, RelayFault):
            raise said
        if self.is_slow:
            on_slow()
        answer = said if isinstance(said, Dialogue) else await said
        if answer.is_marked and not await mark():
            return replace(answer, reply=None, is_marked=False, is_dotted=False, is_stopped=True)
        return answer


class FakeComposer:
    """outbound.compose.Composer without files."""

    async def check_pins(self, body: Body) -> ReasonCode | None:
        return None

    def content(
        self, date_line: bytes, head: bytes, body: Body
    ) -> Callable[[], AsyncIterator[bytes]]:
        async def pieces() -> AsyncIterator[bytes]:
            yield date_line + head + b"".join(s for s in body.segments if isinstance(s, bytes))

        return pieces


class FakeEntropy:
    """No chance at all."""

    def token(self, bits: int) -> int:
        return 1 << (bits - 1)

    def fraction(self) -> float:
        return 0.5


@dataclass(slots=True)
class Told:
    """ports.account.Account that remembers."""

    lines: list[tuple[object, ...]] = field(default_factory=list)

    def started(self, started: Started, row: WaitingRow, at: Instant) -> None:
        self.lines.append(("started", started.number, at - row.due_at))

    def stopped(self, started: Started, stopped: MarkStopped) -> None:
        self.lines.append(("stopped", started.number, stopped.reason_code))

    def ended(
        self, started: Started, outcome: Outcome, state: DeliveryState, took: timedelta
    ) -> None:
        self.lines.append(("ended", started.number, state))

    def waited(self, mailbox_id: str, wait: Wait) -> None:
        self.lines.append(("waited", mailbox_id, wait.gate.name))

    def relay_faulted(self, relay_id: str, fault: RelayFault) -> None:
        self.lines.append(("relay_faulted", relay_id, fault.detail))

    def breaker_moved(self, scope: str, id_: str, before: Breaker, after: Breaker) -> None:
        self.lines.append(("breaker", scope, id_, after.state, after.reason))

    def domain_paused(self, pause: DomainPause) -> None:
        self.lines.append(("domain_paused", pause.domain))

    def speed_moved(self, moved: SpeedMoved) -> None:
        self.lines.append(("speed", moved.domain, moved.after and moved.after.share))

    def expired(self, count: int) -> None:
        self.lines.append(("expired", count))

    def store_refused(self, error: Exception) -> None:
        self.lines.append(("store_refused", str(error)))
