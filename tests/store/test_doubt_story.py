"""Any story of one delivery whose relay answers or not, and of people, policies and evidence that settle what it left.

The relay has a copy where it said 250 and where nobody heard what it said. Counted are those copies, and what told us
to make more of them: a person's resend, a person's retry of what was called failed in doubt, a policy.
"""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from postroom.core.delivery import DeliveryState
from postroom.core.inmail import AutomationKind, InMail
from postroom.core.instant import SECOND, Instant
from postroom.core.mailbox import OnUncertain
from postroom.core.record import DeliveryRecord
from postroom.core.token import Token, TokenKind
from postroom.ports.desk import Actor, Verdict, WrongState
from postroom.ports.doubting import PolicyTurn
from postroom.store.sqlite.outbox import Outbox
from support.arrivals import ALICE, PostOffice, block, in_mail, report_mail, token_of
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job, outcome_of, start_of


S = DeliveryState
ME = Actor(0)
NUMBER = 1
OVER = Instant(NOON + 3600 * SECOND)

ANSWERS = [S.SENT, S.RETRY_SCHEDULED, S.FAILED, S.UNCERTAIN, S.UNCERTAIN]
PROOFS = ["reply token", "return path", "message id", "report"]
LIES = ["another's message id", "report on another"]
STEPS = st.one_of(
    st.tuples(st.just("attempt"), st.sampled_from(ANSWERS), st.sampled_from([None, *PROOFS])),
    st.tuples(st.just("attempt"), st.sampled_from(ANSWERS), st.none()),
    st.tuples(st.just("begin"), st.booleans(), st.none()),
    st.tuples(st.just("crash"), st.none(), st.none()),
    st.tuples(st.just("evidence"), st.sampled_from([*PROOFS, *LIES]), st.none()),
    st.tuples(st.just("policy"), st.sampled_from([OnUncertain.RESEND, OnUncertain.RESEND, OnUncertain.ASSUME_SENT]), st.none()),
    st.tuples(st.just("resolve"), st.sampled_from(list(Verdict)), st.none()),
    st.tuples(st.just("retry"), st.none(), st.none()),
    st.tuples(st.just("cancel"), st.none(), st.none()),
    st.tuples(st.just("suppress"), st.booleans(), st.none()),
)  # fmt: skip
Step = tuple[str, object, object]


class Crash(Exception):
    """SIGKILL."""


@dataclass
class Count:
    """What happened so far. `most` is how many copies the relay may ever have, once one was evidenced."""

    copies: int = 0
    told: int = 0
    is_marked: bool = False
    most: int | None = None


class Story:
    """One run of the daemon over the store."""

    def __init__(self, outbox: Outbox, count: Count) -> None:
        self.outbox = outbox
        self.office = PostOffice(outbox)
        self.count = count

    async def read(self) -> DeliveryRecord:
        found = await self.outbox.reader.find_delivery(NUMBER)
        assert found is not None
        return found

    async def do(self, step: Step) -> None:
        match step:
            case "attempt", S() as answer, proof:
                await self.begin()
                if isinstance(proof, str) and self.count.is_marked:
                    await self.evidence(proof)
                await self.finish(answer)
            case "begin", bool() as is_marked, _:
                await self.begin(is_marked=is_marked)
            case "crash", _, _:
                raise Crash
            case "evidence", str() as proof, _:
                await self.evidence(proof)
            case "policy", OnUncertain() as kind, _:
                turn = PolicyTurn("support", kind, NOON, NOON, 10)
                await self.outbox.doubts.settle_due(turn)
            case _:
                await self.by_hand(step)

    async def by_hand(self, step: Step) -> None:
        admin, before = self.outbox.admin, await self.read()
        match step:
            case "resolve", Verdict() as verdict, _:
                done = await admin.resolve(NUMBER, verdict, ME, NOON)
                is_done = not isinstance(done, WrongState)
                self.count.told += is_done and verdict is Verdict.RESEND
            case "retry", _, _:
                done = await admin.retry(NUMBER, ME, NOON)
                is_done = not isinstance(done, WrongState)
                self.count.told += is_done and before.doubts > 0
            case "cancel", _, _:
                await admin.cancel_job(1, ME, NOON)
            case "suppress", True, _:
                await admin.suppress("support", ALICE, "asked", ME, NOON)
            case _:
                await admin.unsuppress("support", ALICE)

    async def begin(self, *, is_marked: bool = True) -> None:
        if (await self.read()).state is not S.SENDING:
            await self.outbox.loop.start(start_of(NUMBER, OVER))
        if is_marked and not self.count.is_marked:
            made = await self.outbox.loop.mark(NUMBER, await self.claim(), NOON)
            self.count.is_marked = isinstance(made, int)

    async def finish(self, answer: S) -> None:
        """Without a mark nothing went out, and all that can come of it is another try."""
        count, after = self.count, answer if self.count.is_marked else S.PENDING
        count.copies += count.is_marked and answer in {S.SENT, S.UNCERTAIN}
        count.is_marked = False
        outcome = outcome_of(NUMBER, await self.claim(), after, due_at=NOON)
        await self.outbox.loop.finish(outcome)

    async def claim(self) -> int:
        sql = "SELECT claim FROM delivery WHERE number = ?"
        claim: int = await self.outbox.database.read(
            lambda conn: conn.execute(sql, (NUMBER,)).fetchone()[0]
        )
        return claim

    async def evidence(self, proof: str) -> None:
        """Nobody can prove what did not go out; a copy whose answer is awaited may have."""
        count = self.count
        if proof in PROOFS:
            if not count.copies and not count.is_marked:
                return
            if count.copies:
                most = count.copies + count.is_marked
                count.most = most if count.most is None else min(most, count.most)
        mail, tokens = letter(proof, (await self.read()).message_id)
        await self.office.publish(mail, *tokens)

    async def check(self) -> None:
        found, count = await self.read(), self.count
        resends = [one for one in found.history if one.by == "policy" and one.after is S.PENDING]
        assert len(resends) <= 1
        assert count.copies <= 1 + count.told + len(resends), found
        assert count.most is None or count.copies <= count.most, found
        if count.copies and found.state not in {S.SENT, S.FAILED}:
            assert found.doubts or found.marked_at is not None, found
        if found.state in {S.CANCELLED, S.SKIPPED}:
            assert count.copies == 0, found
        event(f"{found.state} {found.settled_by} copies {count.copies}")


def letter(proof: str, message_id: str) -> tuple[InMail, tuple[Token, ...]]:
    """A mail, and its genuine tokens. Each time another one."""
    match proof:
        case "reply token":
            away = in_mail("x@y.example", automation=AutomationKind.AUTO_REPLY)
            return away, (token_of(NUMBER),)
        case "return path":
            mail = report_mail(block(None, "delayed", "4.4.1"))
            return mail, (token_of(NUMBER, TokenKind.BOUNCE),)
        case "message id":
            return in_mail(references=(message_id,)), ()
        case "report":
            return report_mail(block(ALICE, "failed", "5.1.1"), original=message_id), ()
        case "another's message id":
            return in_mail("x@y.example", references=(message_id,)), ()
        case _:
            return report_mail(block("x@y.example", "failed", None), original=message_id), ()


IN_DOUBT: Step = ("attempt", S.UNCERTAIN, None)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from([[], [IN_DOUBT], [IN_DOUBT]]), st.lists(STEPS, min_size=2, max_size=12))
def test_no_story_sends_more_copies_than_it_was_told_to(
    first: list[Step], steps: list[Step]
) -> None:
    asyncio.run(run([*first, *steps]))


async def run(steps: list[Step]) -> None:
    left, count = list(steps), Count()
    with tempfile.TemporaryDirectory(prefix="postroom-test-") as name:
        async with outbox_in(Path(name)) as outbox:
            await outbox.intake.accept(new_job(outbox.intake, ALICE, not_after=OVER))
        while True:
            try:
                async with outbox_in(Path(name)) as outbox:
                    story = Story(outbox, count)
                    await story.check()
                    while left:
                        await story.do(left.pop(0))
                        await story.check()
                    return
            except Crash:
                count.copies += count.is_marked
                count.is_marked = False
