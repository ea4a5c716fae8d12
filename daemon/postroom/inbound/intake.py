"""The loop that makes events of what was received (CONTRACT §5): parse, file, publish, in order of receipt.

Order holds within a line: one for each envelope sender; for the null reverse-path one for each token, and who has none
waits for nobody. A slow mail holds back its line only: at most `at_once` are read at the same time, and who waits for
the judgement of its sender (`judging`) is not among them; at most `in_hand` are read, judged or published. What was
received stays so until its last publication is committed, so a crash anywhere loses nothing, and publishing again what
is an event already makes no second one.

Every message becomes an event: one that can not be read, or whose files make no sense, is published by its header as
`failed`. While the store takes nothing, or the machine lacks room or processes to read with, lines wait and try again. Idle costs nothing: a commit wakes the loop.

Where mail waits behind one in its line, or there are lines for half of `in_hand`, less time is spent on judging it: DNS that
does not answer must not hold back those for whom it does.

Known limits: an envelope sender can be forged, so a stranger whose own domain answers slowly can delay somebody else's line,
up to three seconds for each mail; and fifty such mails at once delay everybody's as long.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from postroom.core.authentication import Authentication
from postroom.core.inmail import InMail
from postroom.core.instant import Instant
from postroom.core.mailbox import AcceptNew
from postroom.core.matching import address_key, sort_tokens
from postroom.core.refusal import Wanted
from postroom.core.token import Token
from postroom.inbound.automation import judge_answer, judge_own
from postroom.inbound.filing import Filed, Filing
from postroom.inbound.judging import Judge
from postroom.inbound.shortage import find_shortage
from postroom.inbound.unread import describe_received
from postroom.ports.arriving import Publication, Received, Spoiled
from postroom.ports.changes import Change, MailReceived
from postroom.ports.errors import StoreBroken, StoreError
from postroom.ports.host import Clock
from postroom.ports.inbox import Inbox, IntakeAccount
from postroom.ports.verifying import Verifier


Parser = Callable[[bytes | Path, str, Path], Awaitable[InMail]]

_PAGE: Final = 100  # rows have up to 64 KiB each
_MOST_IN_HAND: Final = 20_000  # numbers that wait in memory; the rest waits in the store
_FIRST_WAIT_S: Final = 1.0
_LONGEST_WAIT_S: Final = 30.0
_NO_FILES: Final = Filed((), None, None)
_ANYTHING: Final = Wanted(AcceptNew.ALL)  # of a mailbox that left the settings meanwhile


class TokenFinder(Protocol):
    """Reads tokens out of addresses (core.inaddress)."""

    def find_tokens(self, addresses: Sequence[str], now: Instant) -> tuple[tuple[str, Token], ...]:
        """Genuine tokens in these addresses with their mailboxes, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class IntakeMailbox:
    """What intake has to know of a mailbox."""

    address: str
    wanted: Wanted


@dataclass(frozen=True, slots=True)
class IntakeParts:
    """What intake needs. `at_once` messages are read at the same time, `in_hand` are between reading and their event."""

    inbox: Inbox
    parse: Parser
    filing: Filing
    tokens: TokenFinder
    mailboxes: Mapping[str, IntakeMailbox]
    account: IntakeAccount
    clock: Clock
    verifier: Verifier
    at_once: int = 2
    in_hand: int = 50


@dataclass(frozen=True, slots=True)
class _Read:
    mail: InMail
    files: Filed


@dataclass(frozen=True, slots=True)
class _Judged:
    """What is known of a message, whichever mailbox it is for."""

    mail: InMail
    files: Filed
    authentication: Authentication


class Intake:
    """The loop, and an observer of commits that wakes it."""

    def __init__(self, parts: IntakeParts) -> None:
        self._parts = parts
        self._came = asyncio.Event()
        self._left = asyncio.Event()
        self._hands = asyncio.Semaphore(parts.in_hand)
        self._room = asyncio.Semaphore(parts.at_once)
        self._judge = Judge(parts.verifier, parts.account.verifier_failed)
        self._lines: dict[str, deque[int]] = {}
        self._in_hand = 0
        self._after = 0

    @property
    def waiting(self) -> int:
        """Messages that were received and are not published yet, as far as they are in memory."""
        return self._in_hand

    def committed(self, changes: Sequence[Change]) -> None:
        """Wake when mail came in."""
        if not self._came.is_set() and any(isinstance(one, MailReceived) for one in changes):
            self._came.set()

    async def run(self) -> None:
        """Publish what was received, from the oldest on, until cancelled.

        Raises: StoreBroken.
        """
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    self._came.clear()
                    await self._take_all(group)
                    await self._came.wait()
        except* StoreBroken as broken:
            raise broken.exceptions[0] from None

    async def _take_all(self, group: asyncio.TaskGroup) -> None:
        """Put into its line everything that is not there yet."""
        wait = _FIRST_WAIT_S
        while True:
            while self._in_hand >= _MOST_IN_HAND:
                self._left.clear()
                await self._left.wait()
            try:
                found = await self._parts.inbox.find_received(self._after, _PAGE)
            except StoreBroken:
                raise
            except StoreError as error:
                wait = await self._sit_out(error, wait)
                continue
            if not found:
                return
            for received in found:
                self._after = received.number
                self._in_hand += 1
                self._line_up(_line_of(received), received.number, group)

    def _line_up(self, name: str, number: int, group: asyncio.TaskGroup) -> None:
        line = self._lines.get(name)
        if line is not None:
            line.append(number)
            return
        self._lines[name] = deque((number,))
        group.create_task(self._serve(name))

    async def _serve(self, name: str) -> None:
        """Publish what stands in a line, one after the other."""
        line = self._lines[name]
        while line:
            await self._settle(line)
            line.popleft()
            self._in_hand -= 1
            self._left.set()
        del self._lines[name]

    async def _settle(self, line: Sequence[int]) -> None:
        """Publish the first message of a line, however long the store says no."""
        wait = _FIRST_WAIT_S
        number = line[0]
        while True:
            try:
                async with self._hands:
                    await self._publish(number, line)
            except StoreBroken:
                raise
            except StoreError as error:
                wait = await self._sit_out(error, wait)
            except Exception as error:  # noqa: BLE001 - whatever one message does, the others go on
                self._parts.account.mail_set_aside(number, error)
                return
            else:
                return

    async def _publish(self, number: int, line: Sequence[int]) -> None:
        found = await self._parts.inbox.find_received(number - 1, 1)
        if not found or found[0].number != number:
            return
        received = found[0]
        if isinstance(received, Spoiled):
            self._parts.account.mail_set_aside(
                number, ValueError("it is damaged where it is stored")
            )
            return
        raw = self._parts.filing.raw(received.arrival.raw)
        read = await self._understand(received)
        is_hurried = len(line) > 1 or 2 * len(self._lines) > self._parts.in_hand
        verdict = await self._judge.judge(received.arrival, read.mail, raw, is_hurried=is_hurried)
        try:
            await self._publish_to_each(received, _Judged(read.mail, read.files, verdict))
        except StoreError:
            raise
        except Exception:  # noqa: BLE001 - what was understood can not be told: what is known for sure can
            unread = _Judged(describe_received(received), _NO_FILES, verdict)
            await self._publish_to_each(received, unread)

    async def _understand(self, received: Received) -> _Read:
        """What the message says, or what of it is known for sure. Raises StorageFull, StoreUnavailable."""
        try:
            async with self._room, self._parts.filing.directory() as directory:
                return await self._read(received, directory)
        except StoreError:
            raise
        except Exception as error:  # whatever a mail does to its reader, it is told
            shortage = find_shortage(error) if isinstance(error, OSError) else None
            if shortage is not None:
                raise shortage from error
            return _Read(describe_received(received), _NO_FILES)

    async def _read(self, received: Received, directory: Path) -> _Read:
        """What the message says, with its files in the spool. Raises StorageFull, StoreUnavailable."""
        arrival, filing = received.arrival, self._parts.filing
        mail = await self._parts.parse(filing.raw(arrival.raw), arrival.sender, directory)
        return _Read(mail, await filing.file(mail, directory))

    async def _publish_to_each(self, received: Received, judged: _Judged) -> None:
        """One publication for each mailbox that it came to."""
        mailbox_ids = list(dict.fromkeys(one.mailbox_id for one in received.arrival.recipients))
        for mailbox_id in mailbox_ids:
            publication = self._publication(received, judged, mailbox_id, mailbox_ids[-1])
            result = await self._parts.inbox.publish(publication)
            self._parts.account.published(publication, result)

    def _publication(
        self, received: Received, judged: _Judged, mailbox_id: str, last: str
    ) -> Publication:
        mailbox = self._parts.mailboxes.get(mailbox_id)
        recipients = [one for one in received.arrival.recipients if one.mailbox_id == mailbox_id]
        named = [one.token for one in recipients if one.token is not None]
        tokens = sort_tokens(named or self._find_tokens(received, judged.mail, mailbox_id))
        mail = judge_answer(judged.mail) if tokens else judged.mail
        return Publication(
            received=received,
            mailbox_id=mailbox_id,
            at=self._parts.clock.now(),
            recipients=tuple(dict.fromkeys(one.address for one in recipients)),
            tokens=tokens,
            mail=mail if mailbox is None else judge_own(mail, mailbox.address),
            authentication=judged.authentication,
            wanted=_ANYTHING if mailbox is None else mailbox.wanted,
            attachments=judged.files.attachments,
            html_ref=judged.files.html,
            text_ref=judged.files.text,
            is_last=mailbox_id == last,
        )

    def _find_tokens(self, received: Received, mail: InMail, mailbox_id: str) -> Iterable[Token]:
        """The tokens that the header has, where the envelope has none: a provider's forward keeps them there."""
        addresses = mail.forwarded_for if received.arrival.is_trusted else ()
        for some in (addresses, mail.header_recipients):
            found = self._parts.tokens.find_tokens(some, received.arrival.at)
            fitting = [token for owner, token in found if owner == mailbox_id]
            if fitting:
                return fitting
        return ()

    async def _sit_out(self, error: StoreError, wait: float) -> float:
        """Wait while the store takes nothing; how long to wait the next time."""
        self._parts.account.store_refused(error)
        await self._parts.clock.sleep(wait)
        return min(2 * wait, _LONGEST_WAIT_S)


def _line_of(received: Received | Spoiled) -> str:
    if isinstance(received, Spoiled):
        return f"alone {received.number}"
    arrival = received.arrival
    if arrival.sender:
        return f"from {address_key(arrival.sender)}"
    for one in arrival.recipients:
        if one.token is not None:
            return f"about {one.token.number}"
    return f"alone {received.number}"
