"""What was received becomes events, in order, whatever a mail, the parser or the store does; over a real store."""

import asyncio
import hashlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from errno import EAGAIN, EDQUOT, EMFILE, ENOSPC, errorcode
from pathlib import Path
from typing import Any

import pytest

from postroom.core.authentication import Verdict
from postroom.core.inmail import InAttachment, InMail
from postroom.core.instant import Instant
from postroom.core.mailbox import AcceptNew, Require
from postroom.core.refusal import Wanted
from postroom.core.token import Token, TokenKind, TokenStatus
from postroom.inbound.filing import Filing
from postroom.inbound.intake import Intake, IntakeMailbox, IntakeParts
from postroom.ops.spool import Spool
from postroom.ports.arriving import (
    ArrivalRecipient,
    Publication,
    PublishResult,
    RawFile,
    Received,
    Spoiled,
)
from postroom.ports.errors import StorageFull, StoreError, StoreUnavailable
from postroom.ports.inbox import Inbox
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.arrivals import ALICE, SUPPORT, PostOffice, arrival, in_mail, token_of
from support.clock import CountedEntropy, FakeClock
from support.store_host import NOON, outbox_in
from support.verifying import FakeVerifier, judged


BOB = "bob@customer.example"
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


class Crash(BaseException):
    """The daemon is gone."""


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


@pytest.fixture
async def at_home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as opened:
        yield opened


async def test_what_lay_there_and_what_comes_becomes_events(at_home: House) -> None:
    await at_home.came("One")
    async with at_home.at_work() as intake:
        await at_home.done(1)
        await at_home.came("Two")
        await at_home.done(2)
        assert intake.waiting == 0
    assert await at_home.subjects() == ["One", "Two"]
    assert await at_home.office.outbox.inbox.find_received(0, 9) == ()
    assert list((at_home.filing.root).iterdir()) == []


async def test_a_slow_mail_holds_back_its_sender_only_and_order_is_kept(at_home: House) -> None:
    gate = at_home.parser.gates["A1"] = asyncio.Event()
    for subject, sender in (("A1", ALICE), ("A2", ALICE.upper()), ("B1", BOB), ("B2", BOB)):
        await at_home.came(subject, sender)
    async with at_home.at_work():
        await at_home.done(2)
        assert await at_home.subjects() == ["B1", "B2"]
        gate.set()
        await at_home.done(4)
    assert await at_home.subjects() == ["B1", "B2", "A1", "A2"]


async def test_of_the_null_sender_each_token_is_a_line_and_none_waits_for_nobody(
    at_home: House,
) -> None:
    tokens = [token_of(number, TokenKind.BOUNCE) for number in (7, 8)]
    gates = at_home.parser.gates
    gates["first"], gates["unknown"] = asyncio.Event(), asyncio.Event()
    await at_home.came("first", "", tokens[0])
    await at_home.came("second", "", tokens[0])
    await at_home.came("unknown", "")
    await at_home.came("also unknown", "")
    await at_home.came("another", "", tokens[1])
    async with at_home.at_work(at_once=5):
        await at_home.done(2)
        assert sorted(await at_home.subjects()) == ["also unknown", "another"]
        for gate in gates.values():
            gate.set()
        await at_home.done(5)
    subjects = await at_home.subjects()
    assert subjects.index("first") < subjects.index("second")


async def test_no_more_are_read_at_once_than_may_be(at_home: House) -> None:
    gate = asyncio.Event()
    for n in range(9):
        at_home.parser.gates[f"m{n}"] = gate
        await at_home.came(f"m{n}", f"s{n}@x.example")
    async with at_home.at_work(at_once=3):
        async with asyncio.timeout(5):
            while len(at_home.parser.began) < 3:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
            for _ in range(50):  # time enough for more
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        gate.set()
        await at_home.done(9)
    assert at_home.parser.most == 3


async def test_a_mail_to_two_mailboxes_is_an_event_in_each_and_then_it_is_done(
    at_home: House,
) -> None:
    sales = ArrivalRecipient("sales@example.com", "sales", None)
    one = arrival(SUPPORT, sales, "support+x@example.com", raw=b"Hello\r\n")
    await at_home.office.outbox.inbox.receive(one)
    async with at_home.at_work():
        await at_home.done(2)
    first, second = await at_home.office.events()
    assert first["envelope"]["to"] == [SUPPORT, "support+x@example.com"]
    assert second["envelope"]["to"] == ["sales@example.com"]
    assert await at_home.office.outbox.inbox.find_received(0, 9) == ()


FAULTS: dict[str, Exception] = {
    "its bytes are gone": FileNotFoundError("raw"),
    "the parser has a fault": ValueError("a fault of ours"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_mail_that_can_not_be_read_is_an_event_all_the_same(
    at_home: House, fault: Exception
) -> None:
    raw = (
        b"Bad\r\nFrom: Alice <alice@customer.example>\r\nSubject: From the header\r\n\r\nwords\r\n"
    )
    at_home.parser.faults["Bad"] = fault
    await at_home.came("Bad", raw=raw)
    await at_home.came("Good")
    async with at_home.at_work():
        await at_home.done(2)
    bad, good = await at_home.office.events()
    assert bad["message"]["parse"] == "failed"
    assert bad["message"]["subject"] == "From the header"
    assert good["message"]["parse"] == "complete"


def with_text(text: str) -> Callable[[InMail, Path], InMail]:
    return lambda mail, directory: replace(mail, text=text)


def with_file(sha256: str, content: bytes | None) -> Callable[[InMail, Path], InMail]:
    def change(mail: InMail, directory: Path) -> InMail:
        if content is not None:
            (directory / sha256).write_bytes(content)
        one = InAttachment(sha256, len(PDF), "a.pdf", "application/pdf", is_inline=False)
        return replace(mail, attachments=(one, one), html_file=one)

    return change


NONSENSE: dict[str, Callable[[InMail, Path], InMail]] = {
    "text that is none": with_text("\ud800"),
    "a digest that is none": lambda mail, directory: replace(mail, dedupe="nonsense"),
    "a file that is not there": with_file(DIGEST, None),
    "a path for a digest": with_file(f"../{DIGEST}", PDF),
}


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE.keys())
async def test_nonsense_from_the_parser_is_a_failed_event_and_stops_nobody(
    at_home: House, nonsense: Callable[[InMail, Path], InMail]
) -> None:
    at_home.parser.changes["Bad"] = nonsense
    await at_home.came("Bad")
    await at_home.came("Good")
    async with at_home.at_work():
        await at_home.done(2)
    events = await at_home.office.events()
    assert [one["message"]["parse"] for one in events] == ["failed", "complete"]
    assert events[0]["message"]["attachments"] == []
    assert at_home.account.set_aside == []


async def test_attachments_lie_in_the_spool_before_anyone_hears_of_them(at_home: House) -> None:
    at_home.parser.changes["Files"] = with_file(DIGEST, PDF)
    await at_home.came("Files")
    async with at_home.at_work():
        await at_home.done(1)
    (event,) = await at_home.office.events()
    refs = [one["ref"] for one in event["message"]["attachments"]]
    refs.append(event["message"]["html_ref"])
    assert len(set(refs)) == 3
    for ref in refs:
        found = await at_home.office.outbox.reader.find_staged(ref)
        assert found is not None
        assert at_home.spool.path(found.sha256).read_bytes() == PDF


async def test_a_large_mail_is_read_from_the_spool(at_home: House) -> None:
    with at_home.spool.incoming() as incoming:
        incoming.write(b"%PDF a small file")
        kept = RawFile(incoming.keep(), len(PDF))
    await at_home.came("", raw=kept)
    async with at_home.at_work():
        await at_home.done(1)
    assert await at_home.subjects() == [PDF.decode()]


async def test_while_the_store_takes_nothing_the_line_waits_and_tries_again(
    at_home: House,
) -> None:
    at_home.inbox.before = {
        "publish": [StorageFull("full"), StoreUnavailable("busy")],
        "find": [StoreUnavailable("busy")],
    }
    await at_home.came("One")
    await at_home.came("Two")
    async with at_home.at_work():
        for count, seconds in ((1, 1), (2, 1), (3, 2)):
            async with asyncio.timeout(5):
                while len(at_home.account.refused) < count:
                    await asyncio.get_running_loop().run_in_executor(None, lambda: None)
            await asyncio.get_running_loop().run_in_executor(None, lambda: None)
            at_home.clock.advance(seconds)
        await at_home.done(2)
    assert await at_home.subjects() == ["One", "Two"]


@pytest.mark.parametrize("number", [ENOSPC, EDQUOT, EMFILE, EAGAIN], ids=errorcode.get)
async def test_what_the_machine_lacks_for_the_moment_is_waited_for_and_costs_no_mail_its_text(
    at_home: House, number: int
) -> None:
    at_home.parser.faults["One"] = OSError(number, "not now")
    await at_home.came("One")
    async with at_home.at_work():
        async with asyncio.timeout(5):
            while not at_home.account.refused:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        at_home.parser.faults.clear()
        await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        at_home.clock.advance(1)
        await at_home.done(1)
    (event,) = await at_home.office.events()
    assert (event["message"]["subject"], event["message"]["parse"]) == ("One", "complete")


async def test_a_mail_that_can_not_be_published_at_all_is_set_aside(at_home: House) -> None:
    at_home.inbox.before = {"publish": [ValueError("first"), ValueError("second")]}
    await at_home.came("Never")
    await at_home.came("Next")
    async with at_home.at_work():
        await at_home.done(1)
    assert [number for number, _ in at_home.account.set_aside] == [1]
    assert [one.number for one in await at_home.office.outbox.inbox.find_received(0, 9)] == [1]
    assert await at_home.subjects() == ["Next"]


STEPS = ("before publish 1", "after publish 1", "before publish 2", "after publish 2")


@pytest.mark.parametrize("step", STEPS)
async def test_a_crash_between_any_two_steps_loses_nothing_and_doubles_nothing(
    tmp_path: Path, step: str
) -> None:
    when, _, turn = step.split()
    sales = ArrivalRecipient("sales@example.com", "sales", None)
    async with house(tmp_path) as home:
        await home.office.outbox.inbox.receive(arrival(SUPPORT, sales, raw=b"Hello\r\n"))
        faults: dict[str, list[BaseException]] = {"publish": [Crash()]}
        if turn == "2":
            home.account.published = lambda publication, result: setattr(  # type: ignore[method-assign]
                home.inbox, when, faults
            )
        else:
            setattr(home.inbox, when, faults)
        with pytest.raises(BaseExceptionGroup):
            async with home.at_work():
                await home.done(9)
    async with house(tmp_path) as home:
        async with home.at_work():
            await home.came("Next", BOB)
            await home.done(1 if step == STEPS[3] else 3)
        events = await home.office.events()
        assert sorted(
            (one["message"]["subject"], tuple(one["envelope"]["to"])) for one in events
        ) == [
            ("Hello", ("sales@example.com",)),
            ("Hello", (SUPPORT,)),
            ("Next", (SUPPORT,)),
        ]
        assert await home.office.outbox.inbox.find_received(0, 9) == ()


HEADERS: dict[str, Any] = {
    "a trusted relay's Delivered-To": (True, {"forwarded_for": ("r-x@reply.example.com",)}, True),
    "anybody's Delivered-To": (False, {"forwarded_for": ("r-x@reply.example.com",)}, False),
    "To or Cc": (False, {"header_recipients": (SUPPORT, "r-x@reply.example.com")}, True),
    "another mailbox's": (False, {"header_recipients": ("sales-r-x@reply.example.com",)}, False),
}


@pytest.mark.parametrize(("trusted", "more", "is_found"), HEADERS.values(), ids=HEADERS.keys())
async def test_a_token_is_looked_for_in_the_header_when_the_envelope_has_none(
    at_home: House, *, trusted: bool, more: dict[str, Any], is_found: bool
) -> None:
    done = await at_home.office.sent()
    token = token_of(done.deliveries[0].number)
    at_home.tokens.known = {
        "r-x@reply.example.com": ("support", token),
        "sales-r-x@reply.example.com": ("sales", token),
    }
    at_home.parser.changes["Hi"] = lambda mail, directory: replace(mail, **more)
    one = replace(arrival(raw=b"Hi\r\n"), is_trusted=trusted)
    await at_home.office.outbox.inbox.receive(one)
    async with at_home.at_work():
        await at_home.done(1)
    (event,) = await at_home.office.events("reply.received", "message.received")
    assert (event["thread"]["matched_by"] == "reply_token") == is_found


async def test_the_envelopes_token_goes_before_the_headers(at_home: House) -> None:
    first, second = await at_home.office.sent(), await at_home.office.sent()
    at_home.tokens.known = {
        "r-x@reply.example.com": ("support", token_of(first.deliveries[0].number))
    }
    at_home.parser.changes["Hi"] = lambda mail, directory: replace(
        mail, header_recipients=("r-x@reply.example.com",)
    )
    expired = token_of(second.deliveries[0].number, status=TokenStatus.EXPIRED)
    await at_home.came("Hi", ALICE, expired)
    async with at_home.at_work():
        await at_home.done(1)
    (event,) = await at_home.office.events("reply.received")
    assert event["authentication"]["reply_token"]["status"] == "expired"
    assert event["thread"]["confidence"] == "strong"


async def test_a_mail_from_the_mailbox_itself_is_a_loop(at_home: House) -> None:
    await at_home.came("Hello me", SUPPORT.upper())
    async with at_home.at_work():
        await at_home.done(1)
    (event,) = await at_home.office.events()
    assert (event["type"], event["automation"]["kind"]) == ("auto_reply.received", "loop")
    assert event["thread"]["version"] == 0


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE received SET recipients = '[{' WHERE number = 1",
        "UPDATE received SET defects = '7' WHERE number = 1",
        "UPDATE received SET envelope_from = CAST(x'ff40' AS TEXT) WHERE number = 1",
    ],
    ids=["no JSON", "another kind", "other bytes"],
)
async def test_what_is_damaged_where_it_is_stored_stays_there_and_holds_up_nobody(
    at_home: House, sql: str
) -> None:
    def damage(conn: sqlite3.Connection) -> UnitResult[None]:
        conn.execute(sql)
        return UnitResult(None)

    await at_home.came("Damaged")
    await at_home.came("Next")
    await at_home.office.outbox.database.write(damage, lane=WriteLane.REST)
    async with at_home.at_work():
        await at_home.done(1)
    assert [number for number, _ in at_home.account.set_aside] == [1]
    assert [one.number for one in await at_home.inbox.find_received(0, 9)] == [1]
    assert await at_home.subjects() == ["Next"]


@pytest.mark.parametrize(("token", "kind"), [(token_of(7), "auto_reply"), (None, "human")])
async def test_what_reads_as_a_machines_answer_is_one_where_a_token_says_that_it_answers(
    at_home: House, token: Token | None, kind: str
) -> None:
    at_home.parser.changes["Away"] = lambda mail, _: replace(
        mail, evidence_if_answer=("text", "no-quote")
    )
    await at_home.came("Away", ALICE, *(() if token is None else (token,)))
    async with at_home.at_work():
        await at_home.done(1)
    (event,) = await at_home.office.events()
    assert event["automation"]["kind"] == kind
    assert event["automation"]["evidence"] == (
        [] if token is None else ["text", "no-quote", "token"]
    )


async def test_a_mailbox_that_wants_no_strangers_keeps_their_mail_unaccepted(
    at_home: House,
) -> None:
    at_home.boxes["support"] = IntakeMailbox(SUPPORT, Wanted(AcceptNew.NONE))
    await at_home.came("Buy!")
    async with at_home.at_work():
        await at_home.done(1)
    (event,) = await at_home.office.events()
    assert event["accepted"] is False


async def test_the_same_mail_again_is_no_second_event(at_home: House) -> None:
    for _ in range(3):
        await at_home.came("Once")
    async with at_home.at_work():
        await at_home.done(3)
    assert await at_home.subjects() == ["Once"]


# -- who it is from ----------------------------------------------------------------------------------------------------


async def test_a_mail_whose_sender_takes_long_to_judge_holds_back_its_line_and_nothing_else(
    at_home: House,
) -> None:
    gate = at_home.verifier.gates[ALICE] = asyncio.Event()
    for subject, sender in (("A1", ALICE), ("B1", BOB), ("A2", ALICE), ("B2", BOB)):
        await at_home.came(subject, sender)
    async with at_home.at_work(at_once=1):
        await at_home.done(2)
        assert await at_home.subjects() == ["B1", "B2"]
        assert sorted(at_home.parser.began) == ["A1", "B1", "B2"]
        gate.set()
        await at_home.done(4)
    assert await at_home.subjects() == ["B1", "B2", "A1", "A2"]


async def test_no_more_are_judged_at_once_than_may_be_in_hand(at_home: House) -> None:
    gate = asyncio.Event()
    senders = [f"s{n}@x.example" for n in range(9)]
    for sender in senders:
        at_home.verifier.gates[sender] = gate
        await at_home.came(f"from {sender}", sender)
    async with at_home.at_work(in_hand=3):
        async with asyncio.timeout(5):
            while at_home.verifier.under_way < 3:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
            for _ in range(50):  # time enough for more
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        assert len(at_home.parser.began) == 3
        gate.set()
        await at_home.done(9)
    assert at_home.verifier.most == 3


async def test_less_time_is_spent_on_a_mail_that_others_of_its_line_wait_for(
    at_home: House,
) -> None:
    for subject, sender in (("A1", ALICE), ("A2", ALICE), ("B1", BOB)):
        await at_home.came(subject, sender)
    async with at_home.at_work():
        await at_home.done(3)
    asked = at_home.verifier.asked
    assert [one.is_hurried for one in asked if one.from_address == ALICE] == [True, False]
    assert [one.is_hurried for one in asked if one.from_address == BOB] == [False]


async def test_less_time_is_spent_on_each_where_many_are_judged(at_home: House) -> None:
    for number in range(9):
        await at_home.came(f"from {number}", f"s{number}@x.example")
    async with at_home.at_work(in_hand=6) as intake:
        await at_home.done(9)
        assert at_home.verifier.asked[0].is_hurried
        while intake.waiting:
            await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        await at_home.came("later", BOB)
        await at_home.done(10)
    assert not at_home.verifier.asked[-1].is_hurried


async def test_the_verdict_is_in_the_event_and_is_asked_for_once_for_all_mailboxes(
    at_home: House,
) -> None:
    at_home.verifier.told[ALICE] = judged(Verdict.PASS, decided_by="dkim")
    sales = ArrivalRecipient("sales@example.com", "sales", None)
    await at_home.office.outbox.inbox.receive(arrival(SUPPORT, sales, raw=b"Hello\r\n"))
    async with at_home.at_work():
        await at_home.done(2)
    events = await at_home.office.events()
    assert [one["authentication"]["verdict"] for one in events] == ["pass", "pass"]
    (question,) = at_home.verifier.asked
    assert (question.from_address, question.envelope_sender) == (ALICE, ALICE)
    assert (question.client_ip, question.helo) == ("192.0.2.7", "mx.customer.example")
    assert question.raw == b"Hello\r\n"


async def test_a_verifier_that_fails_costs_no_mail(at_home: House) -> None:
    at_home.verifier.faults[ALICE] = ValueError("a fault of ours")
    at_home.boxes["support"] = IntakeMailbox(SUPPORT, Wanted())
    await at_home.came("Hello")
    async with at_home.at_work():
        await at_home.done(1)
    (event,) = await at_home.office.events()
    assert event["authentication"]["verdict"] == "temperror"
    assert event["accepted"] is False
    assert at_home.account.faults == [at_home.verifier.faults[ALICE]]


async def test_a_crash_while_the_sender_is_judged_loses_nothing(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        home.verifier.gates[ALICE] = asyncio.Event()
        await home.came("Hello")
        async with home.at_work(), asyncio.timeout(5):
            while not home.verifier.asked:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
    async with house(tmp_path) as home:
        async with home.at_work():
            await home.done(1)
        assert await home.subjects() == ["Hello"]


QUESTIONS: dict[str, Any] = {
    "whoever delivers": ({"is_trusted": False}, "192.0.2.7"),
    "a trusted relay that says nothing": ({"is_trusted": True}, None),
    "a trusted relay that says whom it had it from": (
        {"is_trusted": True, "relay_ip": "198.51.100.2"},
        "192.0.2.7",
    ),
    "a program of this machine": ({"client_ip": "127.0.0.1"}, None),
    "the same by IPv6": ({"client_ip": "::1"}, None),
}


@pytest.mark.parametrize(("more", "client_ip"), QUESTIONS.values(), ids=QUESTIONS.keys())
async def test_spf_is_asked_for_the_client_that_the_mail_came_from(
    at_home: House, more: dict[str, Any], client_ip: str | None
) -> None:
    await at_home.office.outbox.inbox.receive(replace(arrival(raw=b"Hello"), **more))
    async with at_home.at_work():
        await at_home.done(1)
    assert at_home.verifier.asked[0].client_ip == client_ip
    (event,) = await at_home.office.events()
    assert event["envelope"].get("relay_ip") == more.get("relay_ip")


async def test_what_a_mailbox_requires_is_judged_after_the_mail_is_stored(at_home: House) -> None:
    at_home.boxes["support"] = IntakeMailbox(SUPPORT, Wanted(AcceptNew.ALL, Require.DMARC))
    at_home.verifier.told[BOB] = judged(Verdict.PASS)
    await at_home.came("From somebody", ALICE)
    await at_home.came("From Bob", BOB)
    async with at_home.at_work():
        await at_home.done(2)
    events = {one["message"]["subject"]: one for one in await at_home.office.events()}
    assert events["From somebody"]["refused_by"] == "require"
    assert "accepted" not in events["From Bob"]
