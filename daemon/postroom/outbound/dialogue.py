"""One SMTP transaction on a connection that is logged in: MAIL, RCPT, DATA, content, mark, dot (RFC 5321 §3.3).

Where PIPELINING is offered, MAIL, RCPT and DATA leave in one write (RFC 2920), else one after another; the rest is the
same. Nothing is ever pipelined across two messages. The outcome is the first refusal. The terminator leaves in the loop
step in which the mark says go, and only while the connection is there: before it, the relay has nothing that it could
deliver; after it, a missing answer is doubt.

Content is held against the rules that keep it content: CRLF lines, dot-stuffed, CRLF at the end (RFC 5321 §4.5.2).
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from postroom.core.reply import SmtpReply, Stage
from postroom.outbound.commands import Offer, find_unfit, mail_command, rcpt_command
from postroom.outbound.timeouts import Timeouts
from postroom.outbound.wire import Answer, LossKind, Lost, Wire
from postroom.ports.relay import Dialogue, Envelope, Unfit


_SLICE: Final = 65_536  # what may wait in our buffers, and the content up to which the mark need not wait for a drain
_CLOSING: Final = 421
_END: Final = b".\r\n"


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection that is greeted, encrypted and logged in, and what the relay offers on it."""

    wire: Wire
    offer: Offer


@dataclass(frozen=True, slots=True)
class _Command:
    stage: Stage
    line: bytes
    within: timedelta


@dataclass(frozen=True, slots=True)
class _Refusal:
    stage: Stage
    reply: SmtpReply


async def transact(
    connection: Connection,
    timeouts: Timeouts,
    envelope: Envelope,
    content: Callable[[], AsyncIterator[bytes]],
    mark: Callable[[], Awaitable[bool]],
    on_slow: Callable[[], None],
) -> Dialogue | Unfit:
    """One transaction, as ports.relay.RelaySession says.

    Raises: what `content` and `mark` raise, and ValueError for content that breaks the rules; the connection is dropped
    and the terminator was not written.
    """
    unfit = find_unfit(connection.offer, envelope)
    if unfit is not None:
        return unfit
    transaction = _Transaction(connection, timeouts)
    try:
        return (
            await transaction.open(envelope)
            or await transaction.hand_over(content())
            or await transaction.conclude(is_go=await mark(), on_slow=on_slow)
        )
    except BaseException:
        connection.wire.fail(LossKind.DROPPED, "given up")
        raise


class _Transaction:
    """One transaction; each step gives the Dialogue if it ended there."""

    def __init__(self, connection: Connection, timeouts: Timeouts) -> None:
        self._wire = connection.wire
        self._offer = connection.offer
        self._timeouts = timeouts
        self._final: asyncio.Future[Answer] | None = None
        self._reached_mail = False
        self._has_recipient = False

    async def open(self, envelope: Envelope) -> Dialogue | None:
        """Up to the answer to DATA."""
        limit = self._timeouts.command
        commands = (
            _Command(Stage.MAIL, mail_command(self._offer, envelope), limit),
            _Command(Stage.RCPT, rcpt_command(self._offer, envelope), limit),
            _Command(Stage.DATA, b"DATA\r\n", self._timeouts.data),
        )
        self._reached_mail = self._wire.is_idle
        ended = await self._ask(commands)
        self._final = self._wire.final
        if isinstance(ended, _Refusal):
            is_reusable = ended.reply.code != _CLOSING and await self._clear_away()
            return self._ended(ended.stage, reply=ended.reply, is_reusable=is_reusable)
        return ended

    async def _ask(self, commands: tuple[_Command, ...]) -> Dialogue | _Refusal | None:
        """Ask all at once or one by one. None = the content may come."""
        is_piped = self._offer.has_pipelining
        count = len(commands)
        awaited = (
            self._wire.ask(b"".join(each.line for each in commands), count) if is_piped else []
        )
        refusal: _Refusal | None = None
        for place, command in enumerate(commands):
            asked = awaited[place] if is_piped else self._wire.ask(command.line, 1)[0]
            within = min(command.within, self._timeouts.aftermath) if refusal else command.within
            answer = await self._wire.answer(asked, within)
            if isinstance(answer, Lost):
                return refusal or self._ended(command.stage, fault=answer.detail)
            if answer.code >= 400:  # noqa: PLR2004
                refusal = refusal or _Refusal(command.stage, answer)
                if answer.code == _CLOSING or not is_piped:
                    return refusal
            elif (answer.code < 300) == (command.stage is Stage.DATA):  # noqa: PLR2004
                return self._lose_step(command.stage, answer)
            elif command.stage is Stage.RCPT:
                self._has_recipient = True
        return refusal

    async def _clear_away(self) -> bool:
        """End a refused transaction; whether another one may follow.

        Where 354 came all the same, the lone dot ends it (RFC 2920 §3.1), unless the relay might take it for a message.
        """
        within = self._timeouts.aftermath
        if self._wire.final is None:
            answer = await self._wire.answer(self._wire.ask(b"RSET\r\n", 1)[0], within)
            is_clear = isinstance(answer, SmtpReply) and answer.code < 300  # noqa: PLR2004
        elif self._has_recipient:
            is_clear = False
        else:
            self._wire.write(_END)
            answer = await self._wire.answer(self._wire.final, within)
            is_clear = isinstance(answer, SmtpReply) and answer.code != _CLOSING
        if not is_clear:
            self._wire.fail(LossKind.DROPPED, "dropped after a refusal")
        return is_clear and self._wire.is_idle

    async def hand_over(self, content: AsyncIterator[bytes]) -> Dialogue | None:
        """The content without its terminator; more than a slice of it is drained."""
        rules = _ContentRules()
        sent = 0
        try:
            async for piece in content:
                rules.check(piece)
                for start in range(0, len(piece), _SLICE):
                    self._wire.write(memoryview(piece)[start : start + _SLICE])
                    sent += min(_SLICE, len(piece) - start)
                    if sent > _SLICE:
                        await self._wire.drain(self._timeouts.block)
                    if self._is_early:
                        return self._early(is_marked=False)
        finally:
            if isinstance(content, AsyncGenerator):
                await content.aclose()
        rules.check_end()
        if sent > _SLICE:
            await self._wire.drain(self._timeouts.block, is_full=True)
        return self._early(is_marked=False) if self._is_early else None

    async def conclude(self, *, is_go: bool, on_slow: Callable[[], None]) -> Dialogue:
        """What the mark decided: the terminator in this very loop step, or never."""
        if not is_go:
            self._wire.fail(LossKind.DROPPED, "stopped by the mark")
            return self._ended(Stage.BODY, is_stopped=True)
        if self._final is None or self._is_early or not self._wire.write(_END):
            return self._early(is_marked=True)
        seconds = self._timeouts.slow.total_seconds()
        slow = asyncio.get_running_loop().call_later(seconds, on_slow)
        try:
            answer = await self._wire.answer(self._final, self._timeouts.final)
        finally:
            slow.cancel()
        if isinstance(answer, SmtpReply) and 300 <= answer.code < 400:  # noqa: PLR2004
            answer = self._desync(answer)
        if isinstance(answer, Lost):
            return self._ended(Stage.DOT, fault=answer.detail, is_marked=True)
        return self._ended(
            Stage.DOT,
            reply=answer,
            is_marked=True,
            is_reusable=answer.code != _CLOSING and self._wire.is_idle,
        )

    @property
    def _is_early(self) -> bool:
        return self._final is None or self._final.done()

    def _early(self, *, is_marked: bool) -> Dialogue:
        """The dialogue ended before the terminator: a refusal is the outcome, all else a fault."""
        answer = self._final.result() if self._final is not None and self._final.done() else None
        if isinstance(answer, SmtpReply) and answer.code < 400:  # noqa: PLR2004
            answer = self._desync(answer)
        if isinstance(answer, SmtpReply):
            self._wire.fail(LossKind.DROPPED, "refused in the middle of the content")
            return self._ended(Stage.BODY, reply=answer, is_marked=is_marked)
        lost = answer or self._wire.lost
        detail = "connection lost" if lost is None else lost.detail
        return self._ended(Stage.BODY, fault=detail, is_marked=is_marked)

    def _lose_step(self, stage: Stage, reply: SmtpReply) -> Dialogue:
        return self._ended(stage, fault=self._desync(reply).detail)

    def _desync(self, reply: SmtpReply) -> Lost:
        detail = f"out of step: the relay said {reply.code} where that is no answer"
        self._wire.fail(LossKind.DESYNC, detail)
        return Lost(LossKind.DESYNC, detail)

    def _ended(
        self,
        stage: Stage,
        *,
        reply: SmtpReply | None = None,
        fault: str | None = None,
        is_marked: bool = False,
        is_stopped: bool = False,
        is_reusable: bool = False,
    ) -> Dialogue:
        return Dialogue(
            stage=stage,
            reply=reply,
            fault=fault,
            reached_mail=self._reached_mail,
            is_marked=is_marked,
            is_dotted=stage is Stage.DOT,
            is_stopped=is_stopped,
            is_reusable=is_reusable,
        )


class _ContentRules:
    """CRLF lines, dot-stuffed, CRLF at the end, however the pieces are cut; else ValueError."""

    def __init__(self) -> None:
        self._tail = b"\r\n"

    def check(self, piece: bytes) -> None:
        """Look at one more piece."""
        seen = self._tail + piece
        lines = seen.count(b"\r\n")
        if seen.count(b"\n", 1) != lines or seen.count(b"\r", 0, -1) != lines:
            msg = "content with a bare CR or LF"
            raise ValueError(msg)
        if seen.count(b"\n.", 0, -1) != seen.count(b"\n.."):
            msg = "content with a line that is not dot-stuffed"
            raise ValueError(msg)
        self._tail = seen[-2:]

    def check_end(self) -> None:
        """There is no more."""
        if self._tail != b"\r\n":
            msg = "content that does not end in CRLF"
            raise ValueError(msg)
