"""An intake over a real store, with a parser, a verifier and an inbox that do what a test tells them."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from postroom.core.inmail import InAttachment, InMail
from postroom.core.instant import Instant
from postroom.core.mailbox import AcceptNew
from postroom.core.refusal import Wanted
from postroom.core.token import Token
from postroom.inbound.filing import Filing
from postroom.inbound.intake import Intake, IntakeMailbox, IntakeParts
from postroom.ops.spool import Spool
from postroom.ports.arriving import Publication, PublishResult, Received, Spoiled
from postroom.ports.errors import StoreError
from postroom.ports.inbox import Inbox
from support.arrivals import ALICE, SUPPORT, PostOffice, in_mail
from support.clock import CountedEntropy, FakeClock
from support.store_host import NOON, outbox_in
from support.verifying import FakeVerifier


PDF = b"%PDF a small file"
ANYTHING = Wanted(AcceptNew.ALL)
DIGEST = hashlib.sha256(PDF).hexdigest()


def content_of(raw: bytes | Path) -> bytes:
    return raw if isinstance(raw, bytes) else raw.read_bytes()


@dataclass
class Parser:
    """Understands a mail as its subject says; `gates` are what it waits for before it does."""

    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    faults: dict[str, Exception] = field(default_factory=dict)
    changes: dict[str, Callable[[InMail, Path], InMail]] = field(default_factory=dict)
    under_way: int = 0
    most: int = 0
    began: list[str] = field(default_factory=list)

    async def __call__(self, raw: bytes | Path, sender: str, directory: Path) -> InMail:
        content = content_of(raw)
        subject = content.split(b"\r\n")[0].decode()
        self.began.append(subject)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            if subject in self.gates:
                await self.gates[subject].wait()
        finally:
            self.under_way -= 1
        if subject in self.faults:
            raise self.faults[subject]
        mail = in_mail(sender or "mailer-daemon@relay.example", subject)
        change = self.changes.get(subject)
        return mail if change is None else change(mail, directory)


@dataclass
class Account:
    """Remembers what it was told."""

    results: list[tuple[str, PublishResult]] = field(default_factory=list)
    set_aside: list[tuple[int, Exception]] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)
    refused: list[StoreError] = field(default_factory=list)

    def published(self, publication: Publication, result: PublishResult) -> None:
        self.results.append((publication.mail.subject, result))

    def mail_set_aside(self, number: int, error: Exception) -> None:
        self.set_aside.append((number, error))

    def verifier_failed(self, error: Exception) -> None:
        self.faults.append(error)

    def store_refused(self, error: StoreError) -> None:
        self.refused.append(error)


@dataclass
class Tokens:
    """Tokens by the address that carries them."""

    known: dict[str, tuple[str, Token]] = field(default_factory=dict)

    def find_tokens(self, addresses: Sequence[str], now: Instant) -> tuple[tuple[str, Token], ...]:
        return tuple(self.known[one] for one in addresses if one in self.known)


@dataclass
class Stumbling:
    """An inbox that fails when it is told to, before or after it has done its work."""

    inner: Inbox
    before: dict[str, list[BaseException]] = field(default_factory=dict)
    after: dict[str, list[BaseException]] = field(default_factory=dict)

    async def find_received(self, after: int, limit: int) -> tuple[Received | Spoiled, ...]:
        self._stumble(self.before, "find")
        return await self.inner.find_received(after, limit)

    async def publish(self, publication: Publication) -> PublishResult:
        self._stumble(self.before, "publish")
        done = await self.inner.publish(publication)
        self._stumble(self.after, "publish")
        return done

    def _stumble(self, faults: dict[str, list[BaseException]], name: str) -> None:
        if faults.get(name):
            raise faults[name].pop(0)


@dataclass
class House:
    """An intake at work over a store."""

    office: PostOffice
    inbox: Stumbling
    parser: Parser
    verifier: FakeVerifier
    account: Account
    tokens: Tokens
    clock: FakeClock
    spool: Spool
    filing: Filing
    boxes: dict[str, IntakeMailbox]

    async def subjects(self) -> list[str]:
        return [one["message"]["subject"] for one in await self.office.events()]

    async def came(self, subject: str, sender: str = ALICE, *tokens: Token, **more: Any) -> None:
        raw = subject.encode() + b"\r\nand so on"
        await self.office.receive(*tokens, sender=sender, raw=more.pop("raw", raw), **more)

    @asynccontextmanager
    async def at_work(self, at_once: int = 2, in_hand: int = 50) -> AsyncIterator[Intake]:
        intake = Intake(
            IntakeParts(
                inbox=self.inbox,  # type: ignore[arg-type]
                parse=self.parser,
                filing=self.filing,
                tokens=self.tokens,
                mailboxes=self.boxes,
                account=self.account,
                clock=self.clock,
                verifier=self.verifier,
                at_once=at_once,
                in_hand=in_hand,
            )
        )
        self.office.outbox.database.watch(intake)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(intake.run())
            try:
                yield intake
            finally:
                task.cancel()

    async def done(self, count: int) -> None:
        """Return when so many publications are committed."""
        async with asyncio.timeout(10):
            while len(self.account.results) < count:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)


@asynccontextmanager
async def house(tmp_path: Path) -> AsyncIterator[House]:
    clock = FakeClock(NOON)
    state = tmp_path / "state"
    spool = Spool(state, clock, lambda: None)
    async with outbox_in(tmp_path, spool=frozenset({DIGEST})) as outbox:
        spool.open()
        with ThreadPoolExecutor(2) as files:
            filing = Filing(state / "intake", spool, files, clock, CountedEntropy())
            filing.open()
            yield House(
                PostOffice(outbox),
                Stumbling(outbox.inbox),
                Parser(),
                FakeVerifier(),
                Account(),
                Tokens(),
                clock,
                spool,
                filing,
                {"support": IntakeMailbox(SUPPORT, ANYTHING)},
            )


def with_file(sha256: str, content: bytes | None) -> Callable[[InMail, Path], InMail]:
    def change(mail: InMail, directory: Path) -> InMail:
        if content is not None:
            (directory / sha256).write_bytes(content)
        one = InAttachment(sha256, len(PDF), "a.pdf", "application/pdf", is_inline=False)
        return replace(mail, attachments=(one, one), html_file=one)

    return change
