"""Loops are found by counting, hold what goes there, and end by a person's mail or hand (CASES C08, C11, C14; S8)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from postroom.core.authentication import Verdict
from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.ids import Kind, decode_id
from postroom.core.inmail import AutomationKind
from postroom.core.instant import MINUTE, SECOND, Instant
from postroom.core.mailbox import AcceptNew
from postroom.core.reason import ReasonCode
from postroom.core.refusal import Wanted
from postroom.ports.accepting import Accepted
from postroom.ports.changes import StateMoved, ThreadFreed, ThreadHeld
from postroom.ports.desk import Actor
from postroom.ports.looping import MarkStopped, Started
from postroom.store.sqlite.outbox import Outbox
from support.arrivals import ALICE, PostOffice, in_mail, token_of
from support.desk_store import Told
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job, outcome_of, start_of
from support.verifying import judged


S = DeliveryState
K = AutomationKind
ROBOT = "robot@desk.example"
ANN = Actor(1000)
HOUR = 60 * MINUTE


@dataclass
class House:
    """A store with a clock, in which a robot and a person write."""

    outbox: Outbox
    told: Told
    office: PostOffice
    now: Instant = NOON
    said: list[dict[str, Any]] = field(default_factory=list)
    mails: int = 0

    def pass_(self, microseconds: int) -> None:
        self.now = Instant(self.now + microseconds)

    async def write(self, to: str = ROBOT, thread: int | None = None, **more: Any) -> Accepted:
        """A job is accepted, and waits."""
        head = more.pop("head", None)
        new = new_job(
            self.outbox.intake, to, at=self.now, due_at=self.now, thread_number=thread, **more
        )
        if head is not None:
            new = replace(new, deliveries=tuple(replace(one, head=head) for one in new.deliveries))
        done = await self.outbox.intake.accept(new)
        assert isinstance(done, Accepted)
        return done

    async def start(self, number: int) -> Started | MarkStopped | None:
        return await self.outbox.loop.start(replace(start_of(number), at=self.now))

    async def send(self, to: str = ROBOT, thread: int | None = None, **more: Any) -> int:
        """The number of a delivery that went out."""
        done = await self.write(to, thread, **more)
        number = done.deliveries[0].number
        started = await self.start(number)
        assert isinstance(started, Started), started
        assert await self.outbox.loop.mark(number, started.claim, self.now) == self.now
        await self.outbox.loop.finish(
            replace(outcome_of(number, started.claim, S.SENT), at=self.now)
        )
        return number

    async def hear(
        self,
        sender: str = ROBOT,
        kind: AutomationKind = K.AUTO_REPLY,
        *,
        thread: int | None = None,
        subject: str = "Automated Response: Re: Automated Response: s",
        **more: Any,
    ) -> dict[str, Any]:
        """The event of a mail; in a thread that has a delivery of ours, or in a new one."""
        self.mails += 1
        ids: tuple[str, ...] = ()
        if thread is not None:
            found = await self.outbox.conversations.find_thread(thread, 1)
            assert found is not None
            ids = (found.deliveries[0].message_id,)
        mail = in_mail(
            sender, subject if ids else f"{self.mails} {subject}", automation=kind,
            text=str(self.mails), in_reply_to=ids,
        )  # fmt: skip
        event = await self.office.published(mail, at=self.now, **more)
        self.said.append(event)
        return event

    async def state(self, number: int) -> tuple[S, HoldReason | None]:
        found = await self.outbox.reader.find_delivery(number)
        assert found is not None
        return found.state, found.hold_reason

    def changes(self, kind: type) -> list[Any]:
        return [one for one in self.told.changes if isinstance(one, kind)]


HELD = (S.HELD, HoldReason.LOOP)
WAITS = (S.PENDING, None)


@asynccontextmanager
async def house(folder: Path, now: Instant = NOON) -> AsyncIterator[House]:
    async with outbox_in(folder) as outbox:
        told = Told()
        outbox.database.watch(told)
        yield House(outbox, told, PostOffice(outbox), now)


def thread_of(event: dict[str, Any]) -> int:
    number = decode_id(Kind.THREAD, event["thread"]["id"])
    assert number is not None
    return number


async def loop_in_thread(at: House) -> int:
    """The thread in which the robot just wrote one mail too many."""
    first = await at.write()
    thread = first.deliveries[0].thread_number
    await at.send(thread=thread)
    for _ in range(6):
        await at.hear(thread=thread)
        at.pass_(SECOND)
    return thread


async def test_the_sixth_mail_of_a_machine_in_ten_minutes_makes_its_thread_held(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as at:
        waiting = (await at.write()).deliveries[0]
        await at.send(thread=waiting.thread_number)
        for _ in range(5):
            event = await at.hear(thread=waiting.thread_number)
            assert event["automation"] == {"kind": "auto_reply", "evidence": []}
            assert "held" not in event["thread"]
        assert await at.state(waiting.number) == WAITS
        event = await at.hear(thread=waiting.thread_number)
        assert event["automation"] == {"kind": "loop", "evidence": ["velocity_thread"]}
        assert (event["type"], event["thread"]["held"]) == ("auto_reply.received", True)
        assert event["thread"]["held_at"] == "2026-11-30T12:00:00.000000Z"
        assert event["thread"]["version"] == 0
        assert await at.state(waiting.number) == HELD
        (held,) = at.changes(ThreadHeld)
        assert (held.evidence, held.peer_domain) == ("velocity_thread", "desk.example")
        assert (held.scopes, held.deliveries) == (("thread",), 1)
        assert StateMoved("support", 1, S.PENDING, S.HELD, ReasonCode.LOOP, 1) in at.told.changes
        found = await at.outbox.reader.find_delivery(waiting.number)
        assert found is not None
        assert (found.history[-1].after, found.history[-1].by) == (S.HELD, "intake")
        assert found.reason_code is ReasonCode.LOOP


async def test_a_loop_is_told_once(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await loop_in_thread(at)
        for _ in range(10):
            event = await at.hear(thread=thread)
            assert event["automation"]["kind"] == "auto_reply"
            assert event["thread"]["held"] is True
        assert len(at.changes(ThreadHeld)) == 1


async def test_a_job_for_a_held_thread_begins_held_and_others_go_on(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await loop_in_thread(at)
        later = (await at.write(thread=thread)).deliveries[0]
        assert (later.state, later.reason_code) == (S.HELD, ReasonCode.LOOP)
        assert await at.state(later.number) == HELD
        assert await at.start(later.number) is None
        await at.send()  # to the same robot, in a thread of its own
        await at.send(ALICE)


async def test_a_hold_that_comes_while_it_is_sent_wins_before_the_mark(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        first = await at.write()
        thread = first.deliveries[0].thread_number
        started = await at.start(first.deliveries[0].number)
        assert isinstance(started, Started)
        marked = (await at.write(thread=thread)).deliveries[0].number
        other = await at.start(marked)
        assert isinstance(other, Started)
        await at.outbox.loop.mark(marked, other.claim, at.now)
        for _ in range(6):
            await at.hear(thread=thread)
        stopped = await at.outbox.loop.mark(started.number, started.claim, at.now)
        assert stopped == MarkStopped(S.HELD, ReasonCode.LOOP)
        assert await at.state(started.number) == HELD
        done = replace(outcome_of(marked, other.claim, S.SENT), at=at.now)
        assert await at.outbox.loop.finish(done) is S.SENT


async def test_what_fails_after_its_mark_is_not_tried_again_in_a_held_thread(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as at:
        first = (await at.write()).deliveries[0]
        started = await at.start(first.number)
        assert isinstance(started, Started)
        await at.outbox.loop.mark(first.number, started.claim, at.now)
        for _ in range(6):
            await at.hear(thread=first.thread_number)
        again = replace(
            outcome_of(first.number, started.claim, S.RETRY_SCHEDULED), due_at=at.now, at=at.now
        )
        assert await at.outbox.loop.finish(again) is S.RETRY_SCHEDULED
        assert await at.start(first.number) is None
        assert await at.state(first.number) == HELD


async def test_a_persons_mail_frees_the_thread(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await loop_in_thread(at)
        later = (await at.write(thread=thread)).deliveries[0].number
        event = await at.hear(ALICE, K.HUMAN, thread=thread)
        assert event["automation"]["kind"] == "human"
        assert "held" not in event["thread"]
        assert await at.state(later) == WAITS
        (freed,) = at.changes(ThreadFreed)
        assert (freed.thread_number, freed.by, freed.deliveries) == (thread, "intake", 2)
        assert isinstance(await at.start(later), Started)
        # Counting begins anew: five more are no loop.
        for _ in range(5):
            assert (await at.hear(thread=thread))["automation"]["kind"] == "auto_reply"
        assert (await at.hear(thread=thread))["automation"]["kind"] == "loop"


@pytest.mark.parametrize("kind", [K.LIST, K.BULK, K.REPORT, K.AUTO_REPLY])
async def test_a_machines_mail_frees_nothing(tmp_path: Path, kind: AutomationKind) -> None:
    async with house(tmp_path) as at:
        thread = await loop_in_thread(at)
        event = await at.hear(ALICE, kind, thread=thread)
        assert event["thread"]["held"] is True
        assert at.changes(ThreadFreed) == []


async def test_an_operator_frees_the_thread(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await loop_in_thread(at)
        later = (await at.write(thread=thread)).deliveries[0].number
        found = await at.outbox.conversations.find_thread(thread, 100)
        assert found is not None
        (hold,) = found.holds
        assert (hold.scope, hold.name, hold.evidence) == ("thread", None, "velocity_thread")
        assert await at.outbox.admin.resume_thread(thread, ANN, at.now) is True
        assert await at.state(later) == WAITS
        (freed,) = at.changes(ThreadFreed)
        assert freed.by == "uid:1000"
        delivery = await at.outbox.reader.find_delivery(later)
        assert delivery is not None
        assert delivery.history[-1].by == "uid:1000"
        after = await at.outbox.conversations.find_thread(thread, 100)
        assert after is not None
        assert after.holds == ()
        assert await at.outbox.admin.resume_thread(thread, ANN, at.now) is True
        assert await at.outbox.admin.resume_thread(999_999, ANN, at.now) is False
        assert len(at.changes(ThreadFreed)) == 1


async def test_c08_a_robot_that_opens_a_conversation_with_each_answer_is_held_by_its_address(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as at:
        kinds = []
        for _ in range(6):
            await at.send()
            event = await at.hear()
            kinds.append(event["automation"]["kind"])
            at.pass_(30 * SECOND)
        assert kinds == ["auto_reply"] * 5 + ["loop"]
        assert event["automation"]["evidence"] == ["velocity_address"]
        assert event["thread"]["held"] is True
        (held,) = at.changes(ThreadHeld)
        assert held.scopes == ("thread", "address")
        later = (await at.write()).deliveries[0]
        assert later.state is S.HELD
        assert (await at.write(ALICE)).deliveries[0].state is S.PENDING
        assert (await at.write("ann@desk.example")).deliveries[0].state is S.PENDING
        assert (await at.write(mailbox_id="news")).deliveries[0].state is S.PENDING
        # Where such a delivery is held, its thread says why, and can be resumed.
        found = await at.outbox.conversations.find_thread(later.thread_number, 100)
        assert found is not None
        (hold,) = found.holds
        assert (hold.scope, hold.name) == ("address", ROBOT)
        await at.outbox.admin.resume_thread(later.thread_number, ANN, at.now)
        assert await at.state(later.number) == WAITS


async def test_a_robot_with_an_address_for_each_mail_is_held_by_its_domain(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        for number in range(5):
            event = await at.hear(f"ticket-{number}@desk.example")
            assert event["automation"]["kind"] == "auto_reply"
            await at.send(f"ticket-{number}@desk.example")
        event = await at.hear("ticket-5@desk.example")
        assert event["automation"] == {"kind": "loop", "evidence": ["velocity_domain"]}
        (held,) = at.changes(ThreadHeld)
        assert (held.evidence, held.scopes) == ("velocity_domain", ("thread", "domain"))
        assert (await at.write("ann@desk.example")).deliveries[0].state is S.HELD
        assert (await at.write("ann@other.example")).deliveries[0].state is S.PENDING


async def test_a_persons_mail_from_there_frees_the_domain(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        for number in range(6):
            await at.send(f"answer-{number}@desk.example")
            await at.hear(f"ticket-{number}@desk.example")
        later = (await at.write("ann@desk.example")).deliveries[0].number
        assert await at.state(later) == HELD
        await at.hear("bob@desk.example", K.HUMAN, wanted=Wanted(AcceptNew.NONE))
        assert await at.state(later) == HELD
        await at.hear("bob@elsewhere.example", K.HUMAN)
        assert await at.state(later) == HELD
        await at.hear("carol@desk.example", K.HUMAN)
        assert await at.state(later) == WAITS


async def test_out_of_office_answers_to_a_mailing_are_no_loop(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        for number in range(40):
            await at.send(f"person-{number}@big.example")
        for number in range(30):
            event = await at.hear(f"person-{number}@big.example")
            assert event["automation"]["kind"] == "auto_reply"
        # Some answer from other addresses, where far more was sent.
        for number in range(15):
            event = await at.hear(f"private-{number}@big.example")
            assert event["automation"]["kind"] == "auto_reply"
        assert at.changes(ThreadHeld) == []


async def test_one_person_can_not_hold_what_goes_to_a_large_provider(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.send("person-1@big.example")
        await at.send("person-2@big.example")
        for number in range(30):
            event = await at.hear(f"mallory+{number}@big.example")
            assert event["automation"]["kind"] == "auto_reply"
            at.pass_(SECOND)
        assert (await at.write("person-3@big.example")).deliveries[0].state is S.PENDING


@pytest.mark.parametrize(
    ("verdict", "has_token", "is_held"),
    [
        (Verdict.FAIL, False, False),
        (Verdict.FAIL, True, True),
        (Verdict.UNVERIFIED, False, True),
    ],
    ids=["forged", "with a token", "nobody vouches"],
)
async def test_forged_mail_makes_no_loop(
    tmp_path: Path, verdict: Verdict, *, has_token: bool, is_held: bool
) -> None:
    async with house(tmp_path) as at:
        delivery = (await at.office.sent(ROBOT)).deliveries[0]
        thread = await at.outbox.conversations.find_thread(delivery.thread_number, 1)
        assert thread is not None
        named = (thread.deliveries[0].message_id,)
        tokens = (token_of(delivery.number),) if has_token else ()
        for number in range(8):
            mail = in_mail(ROBOT, automation=K.AUTO_REPLY, text=str(number), in_reply_to=named)
            await at.office.published(mail, *tokens, authentication=judged(verdict))
        later = (await at.write(thread=delivery.thread_number)).deliveries[0]
        assert (later.state is S.HELD) is is_held


async def test_many_who_are_away_in_one_conversation_are_no_loop(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        people = [f"person-{number}@big.example" for number in range(30)]
        done = await at.office.sent(*people)
        for one, delivery in zip(people, done.deliveries, strict=True):
            await at.hear(one, thread=delivery.thread_number)
        assert at.changes(ThreadHeld) == []


async def test_notices_of_a_machine_that_we_never_write_to_are_no_loop(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        for _ in range(50):
            event = await at.hear("alerts@monitor.example")
            assert event["automation"]["kind"] == "auto_reply"
            at.pass_(SECOND)


@pytest.mark.parametrize("kind", [K.LIST, K.REPORT])
async def test_lists_and_reports_are_not_counted(tmp_path: Path, kind: AutomationKind) -> None:
    async with house(tmp_path) as at:
        number = await at.send()
        found = await at.outbox.reader.find_delivery(number)
        assert found is not None
        for _ in range(30):
            event = await at.hear(kind=kind, thread=found.thread_number)
            assert event["automation"]["kind"] == kind
        assert at.changes(ThreadHeld) == []


async def test_five_in_ten_minutes_are_allowed_for_ever_and_twenty_a_day(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.send()
        thread = (await at.write()).deliveries[0].thread_number
        kinds = []
        for _ in range(21):
            kinds.append((await at.hear(thread=thread))["automation"]["kind"])
            at.pass_(20 * MINUTE)
        assert kinds == ["auto_reply"] * 20 + ["loop"]
        other = (await at.write()).deliveries[0].thread_number
        at.pass_(24 * HOUR)
        for _ in range(30):
            kinds.append((await at.hear(thread=other))["automation"]["kind"])
            at.pass_(75 * MINUTE)
        assert kinds[21:] == ["auto_reply"] * 30


async def test_our_own_mail_that_comes_back_again_and_again_is_a_loop_too(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        done = await at.write()
        thread = done.deliveries[0].thread_number
        for _ in range(6):
            event = await at.hear("support@example.com", K.LOOP, thread=thread)
        assert event["automation"]["evidence"] == ["velocity_thread"]
        assert await at.state(done.deliveries[0].number) == HELD


async def answer(at: House, thread: int, after_s: int) -> dict[str, Any]:
    """A turn: we write by ourselves, and somebody who looks like a person answers after so long."""
    await at.send(ALICE, thread, head=AUTOMATIC)
    at.pass_(after_s * SECOND)
    return await at.hear(ALICE, K.HUMAN, thread=thread)


AUTOMATIC = b"Subject: s\r\nAuto-Submitted: auto-generated\r\n"


async def begin(at: House) -> int:
    done = await at.write(ALICE)
    return done.deliveries[0].thread_number


async def test_who_looks_like_a_person_and_answers_eleven_times_at_once_is_held(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as at:
        thread = await begin(at)
        kinds = [(await answer(at, thread, 3))["automation"]["kind"] for _ in range(11)]
        assert kinds == ["human"] * 10 + ["loop"]
        assert at.said[-1]["automation"]["evidence"] == ["velocity_turns"]
        (held,) = at.changes(ThreadHeld)
        assert held.scopes == ("thread", "address")
        later = (await at.write(ALICE)).deliveries[0].number
        assert await at.state(later) == HELD
        # What is still on its way frees nothing; it stays a person's for who reads it.
        at.pass_(SECOND)
        event = await at.hear(ALICE, K.HUMAN, thread=thread)
        assert (event["type"], event["thread"]["held"]) == ("reply.received", True)
        assert await at.state(later) == HELD
        at.pass_(10 * MINUTE)
        event = await at.hear(ALICE, K.HUMAN, thread=thread)
        assert "held" not in event["thread"]
        assert await at.state(later) == WAITS


async def test_somebody_else_frees_it_at_once(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await begin(at)
        for _ in range(11):
            await answer(at, thread, 3)
        later = (await at.write(ALICE)).deliveries[0].number
        await at.hear("bob@customer.example", K.HUMAN, thread=thread)
        assert await at.state(later) == WAITS


async def test_a_chatty_person_is_none(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await begin(at)
        for number in range(90):
            # mostly fast, sometimes not
            event = await answer(at, thread, 45 if number % 8 == 7 else 12)
            assert event["automation"]["kind"] == "human"


async def test_who_writes_many_mails_after_one_of_ours_is_none(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await begin(at)
        await answer(at, thread, 3)
        for _ in range(150):
            event = await at.hear(ALICE, K.HUMAN, thread=thread)
            assert event["automation"]["kind"] == "human"


async def test_a_person_who_answers_a_person_at_once_is_none(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await begin(at)
        for _ in range(30):
            await at.send(ALICE, thread)  # its head says nothing of a machine
            at.pass_(SECOND)
            event = await at.hear(ALICE, K.HUMAN, thread=thread)
            assert event["automation"]["kind"] == "human"


async def test_a_hundred_turns_a_day_are_a_loop_at_any_speed(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await begin(at)
        kinds = [(await answer(at, thread, 120))["automation"]["kind"] for _ in range(101)]
        assert kinds == ["human"] * 100 + ["loop"]


async def test_a_loop_is_remembered_over_a_restart(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = (await at.write()).deliveries[0].thread_number
        for _ in range(5):
            await at.hear(thread=thread)
    async with house(tmp_path) as at:
        at.mails = 100
        event = await at.hear(thread=thread)
        assert event["automation"]["kind"] == "loop"
    async with house(tmp_path) as at:
        assert (await at.write(thread=thread)).deliveries[0].state is S.HELD


async def test_counts_are_few_and_forgotten_after_a_day(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.send()
        for _ in range(60):
            await at.hear("alerts@monitor.example")
            at.pass_(20 * MINUTE)

        def count(conn: Any) -> int:
            return int(conn.execute("SELECT count(*) FROM velocity").fetchone()[0])

        assert await at.outbox.database.read(count) <= 60 * 2 + 2 * 21


async def test_a_copy_is_counted_once(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        number = await at.send()
        found = await at.outbox.reader.find_delivery(number)
        assert found is not None
        mail = in_mail(
            ROBOT, "Automatic reply: s", automation=K.AUTO_REPLY, in_reply_to=(found.message_id,)
        )
        await at.office.published(mail, at=at.now)
        for _ in range(20):
            await at.office.doubled(mail, at=at.now)
        assert at.changes(ThreadHeld) == []


async def test_what_two_loops_hold_waits_for_the_end_of_both(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await loop_in_thread(at)
        later = (await at.write(thread=thread)).deliveries[0].number
        for _ in range(6):
            await at.hear()
        assert [one.evidence for one in at.changes(ThreadHeld)] == [
            "velocity_thread",
            "velocity_address",
        ]
        await at.hear(ALICE, K.HUMAN, thread=thread)
        assert await at.state(later) == HELD
        await at.hear("ann@desk.example", K.HUMAN)
        assert await at.state(later) == HELD
        await at.hear(ROBOT, K.HUMAN)
        assert await at.state(later) == WAITS


async def test_a_loop_in_a_thread_does_not_count_against_the_peers_others(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await loop_in_thread(at)
        for _ in range(5):
            event = await at.hear()
            assert event["automation"]["kind"] == "auto_reply"


async def test_after_an_end_by_hand_a_peer_is_counted_anew(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.send()
        for _ in range(6):
            event = await at.hear()
        assert event["automation"]["evidence"] == ["velocity_address"]
        await at.outbox.admin.resume_thread(thread_of(event), ANN, at.now)
        kinds = [(await at.hear())["automation"]["kind"] for _ in range(6)]
        assert kinds == ["auto_reply"] * 5 + ["loop"]


async def test_notices_of_one_subject_in_a_thread_without_us_are_no_loop(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        for number in range(20):
            mail = in_mail("alerts@monitor.example", "Re: disk", automation=K.AUTO_REPLY,
                           message_id=f"<{number}@monitor.example>", in_reply_to=("<0@monitor.example>",), text=str(number))  # fmt: skip
            event = await at.office.published(mail, at=at.now)
            assert event["automation"]["kind"] == "auto_reply"
        assert event["thread"]["matched_by"] == "in_reply_to"
