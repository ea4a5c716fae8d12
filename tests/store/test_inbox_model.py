"""No order of mails, copies, reports and crashes breaks what publishing promises (CONTRACT §5); against a plain model."""

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom.core.inmail import AutomationKind, InMail
from postroom.core.instant import SECOND, Instant
from postroom.core.token import Token, TokenKind, TokenStatus
from postroom.ports.arriving import Received
from support.arrivals import PostOffice, block, in_mail, report_mail, token_of
from support.desk_store import Told
from support.store_host import NOON, outbox_in


PEERS = ("alice@customer.example", "bob@customer.example", "eve@elsewhere.example")
SUBJECTS = ("Report", "Question", "Re: Report", "Re: Question", "AW: Something")


@dataclass(frozen=True)
class Mail:
    """A mail as it is drawn: to whom it answers is an index into what is there at that moment."""

    peer: int
    subject: int
    kind: AutomationKind
    token: int | None
    is_expired: bool
    answers: int | None
    quotes: int | None
    body: int


MAILS = st.builds(
    Mail,
    peer=st.integers(0, 2),
    subject=st.integers(0, 4),
    kind=st.sampled_from([AutomationKind.HUMAN, AutomationKind.HUMAN, AutomationKind.AUTO_REPLY]),
    token=st.none() | st.integers(0, 9),
    is_expired=st.booleans(),
    answers=st.none() | st.integers(0, 9),
    quotes=st.none() | st.integers(0, 9),
    body=st.integers(0, 10**6),
)
STEPS = st.one_of(
    st.tuples(st.just("send"), st.integers(0, 2)),
    st.tuples(st.just("mail"), MAILS),
    st.tuples(st.just("copy"), st.tuples(st.integers(0, 30), st.none() | st.integers(0, 9))),
    st.tuples(st.just("again"), st.integers(0, 30)),
    st.tuples(st.just("report"), st.tuples(st.integers(0, 9), st.booleans())),
)


@dataclass
class World:
    """What is known outside the store, and what must follow from it."""

    office: PostOffice
    deliveries: list[tuple[int, str, str]] = field(default_factory=list)  # number, peer, thread
    mails: list[tuple[InMail, tuple[Token, ...], Received]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    peers: dict[str, set[str]] = field(default_factory=dict)  # thread: who may be in it
    people: dict[str, int] = field(default_factory=dict)  # thread: mails of persons
    digests: dict[str, set[str]] = field(default_factory=dict)  # digest: threads
    count: int = 0

    @property
    def now(self) -> Instant:
        self.count += 1
        return Instant(NOON + self.count * SECOND)

    async def send(self, peer: int) -> None:
        done = await self.office.sent(PEERS[peer], at=self.now)
        number = done.deliveries[0].number
        thread = thread_id(done.deliveries[0].thread_number)
        self.deliveries.append((number, PEERS[peer], thread))
        self.ids.append(f"<{number}@example.com>")
        self.peers[thread] = {PEERS[peer]}

    async def mail(self, drawn: Mail) -> None:
        token = pick(self.deliveries, drawn.token)
        answers, quotes = pick(self.ids, drawn.answers), pick(self.ids, drawn.quotes)
        message_id = f"<m{self.count}@customer.example>"
        mail = in_mail(
            PEERS[drawn.peer],
            SUBJECTS[drawn.subject],
            message_id=message_id,
            automation=drawn.kind,
            in_reply_to=() if answers is None else (answers,),
            references=() if quotes is None else (quotes, "<unknown@x.example>"),
            text=str(drawn.body),
        )
        status = TokenStatus.EXPIRED if drawn.is_expired else TokenStatus.VALID
        tokens = () if token is None else (token_of(token[0], status=status),)
        await self.publish(mail, tokens, named=None if token is None else token[2])
        self.ids.append(message_id)

    async def copy(self, drawn: tuple[int, int | None]) -> None:
        """The same mail, perhaps to another address."""
        known = pick(self.mails, drawn[0])
        token = pick(self.deliveries, drawn[1])
        if known is not None:
            tokens = () if token is None else (token_of(token[0]),)
            await self.publish(known[0], tokens, named=None if token is None else token[2])

    async def again(self, index: int) -> None:
        """The same receipt once more, as after a crash before the last publication was noted."""
        known = pick(self.mails, index)
        if known is not None:
            before = await self.office.events()
            mail, tokens, received = known
            await self.office.doubled(mail, *tokens, received=received, at=self.now)
            assert await self.office.events() == before

    async def report(self, drawn: tuple[int, bool]) -> None:
        found = pick(self.deliveries, drawn[0])
        if found is None:
            return
        number, peer, thread = found
        version = self.people.get(thread, 0)
        if drawn[1]:
            mail = report_mail(block(peer, "failed"), text=str(self.now))
            event = await self.office.published(mail, token_of(number, TokenKind.BOUNCE))
            assert (event["thread"]["id"], event["thread"]["version"]) == (thread, version)
            assert await self.office.feedback(number) in {"bounced", "replied"}
        else:
            before = await self.office.feedback(number)
            mail = report_mail(
                block("forged@x.example", "failed"),
                original=f"<{number}@example.com>",
                text=str(self.now),
            )
            event = await self.office.published(mail)
            assert event["delivery_report"]["verified"] is False
            assert await self.office.feedback(number) == before

    async def publish(self, mail: InMail, tokens: tuple[Token, ...], named: str | None) -> None:
        at = self.now
        received = await self.office.receive(*tokens, at=at)
        before = await self.office.events()
        await self.office.publish(mail, *tokens, received=received, at=at)
        self.mails.append((mail, tokens, received))
        after = await self.office.events()
        new = after[len(before) :]
        threads = self.digests.setdefault(mail.dedupe, set())
        is_new = not threads or (named is not None and named not in threads)
        assert len(new) == is_new, "one event for each mail and thread that it proves to name"
        for event in new:
            self.look(event, mail, named)
            threads.add(event["thread"]["id"])

    def look(self, event: dict[str, Any], mail: InMail, named: str | None) -> None:
        thread, sign = event["thread"]["id"], event["thread"]["matched_by"]
        assert mail.sender is not None
        sender = mail.sender.address
        if named is not None:
            assert (thread, sign) == (named, "reply_token")
        elif sign in {"subject", "thread_index"}:
            assert sender in self.peers[thread], "a subject never joins strangers"
        elif sign == "none":
            assert thread not in self.peers, "a new thread is new"
        else:
            assert {*mail.in_reply_to, *mail.references} & set(self.ids)
        self.peers.setdefault(thread, set()).add(sender)
        is_person = event["automation"]["kind"] == "human"
        self.people[thread] = self.people.get(thread, 0) + is_person
        assert event["thread"]["version"] == self.people[thread]


def pick(from_: list[Any], index: int | None) -> Any:
    return None if index is None or not from_ else from_[index % len(from_)]


def thread_id(number: int) -> str:
    digits = ""
    for _ in range(13):
        digits = "0123456789abcdefghijklmnopqrstuv"[number & 31] + digits
        number >>= 5
    return f"thr_{digits}"


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, max_size=25))
def test_no_order_of_mails_and_copies_breaks_what_publishing_promises(
    steps: list[tuple[str, Any]],
) -> None:
    asyncio.run(run(steps))


async def run(steps: list[tuple[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with outbox_in(Path(directory)) as outbox:
            told = Told()
            outbox.database.watch(told)
            world = World(PostOffice(outbox))
            for name, drawn in steps:
                await getattr(world, name)(drawn)
            events = await world.office.events()
            seqs = [one.seq for one in told.changes if hasattr(one, "seq")]
            assert seqs == sorted(seqs), "seq rises in the order of commits"
            assert seqs == [one["seq"] for one in events]
            assert await outbox.inbox.find_received(0, 1) == ()
