"""Whatever is done to a delivery in whatever order, history goes only by the table, and the store agrees with itself."""

import asyncio
import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom.core.delivery import UNSETTLED, WAITING, DeliveryState, may_become
from postroom.core.instant import SECOND, Instant
from postroom.core.mailbox import OnUncertain
from postroom.core.status import job_status
from postroom.core.token import TokenKind
from postroom.ports.desk import Actor, Verdict
from postroom.ports.doubting import PolicyTurn
from postroom.store.sqlite.outbox import Outbox
from support.arrivals import PostOffice, in_mail, token_of
from support.store_host import NOON, outbox_in, rows_in
from support.store_jobs import new_job, outcome_of, start_of


S = DeliveryState
ACTOR = Actor(0)

ENDS = st.sampled_from(
    [S.SENT, S.FAILED, S.UNCERTAIN, S.RETRY_SCHEDULED, S.PENDING, S.HELD, S.SKIPPED, S.CANCELLED]
)
STEPS = st.one_of(
    st.tuples(st.just("start"), st.none()),
    st.tuples(st.just("mark"), st.none()),
    st.tuples(st.just("finish"), ENDS),
    st.tuples(st.just("cancel"), st.none()),
    st.tuples(st.just("retry"), st.none()),
    st.tuples(st.just("resolve"), st.sampled_from(list(Verdict))),
    st.tuples(st.just("suppress"), st.booleans()),
    st.tuples(st.just("pause"), st.booleans()),
    st.tuples(st.just("expire"), st.none()),
    st.tuples(st.just("crash"), st.none()),
    st.tuples(st.just("evidence"), st.sampled_from(list(TokenKind))),
    st.tuples(st.just("policy"), st.sampled_from([OnUncertain.RESEND, OnUncertain.ASSUME_SENT])),
)


class Crash(Exception):
    pass


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(st.sampled_from([1, 2]), STEPS), max_size=14))
def test_no_order_of_events_leaves_the_table(steps: list[tuple[int, tuple[str, object]]]) -> None:
    asyncio.run(run(steps))


async def run(steps: list[tuple[int, tuple[str, object]]]) -> None:
    left = list(steps)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        async with outbox_in(directory) as outbox:
            later = Instant(NOON + SECOND)
            new = new_job(outbox.intake, "a@x.example", "b@y.example", not_after=later)
            await outbox.intake.accept(new)
        while left:
            try:
                async with outbox_in(directory) as outbox:
                    while left:
                        number, (verb, with_) = left.pop(0)
                        await do(outbox, number, verb, with_)
            except Crash:
                continue
        await check(directory)


async def do(outbox: Outbox, number: int, verb: str, with_: object) -> None:
    if verb in {"start", "mark", "finish", "expire"}:
        await do_as_loop(outbox, number, verb, with_)
    elif verb == "crash":
        raise Crash
    elif verb in {"evidence", "policy"}:
        await do_about_doubt(outbox, number, with_)
    else:
        await do_by_hand(outbox, number, verb, with_)


async def do_as_loop(outbox: Outbox, number: int, verb: str, with_: object) -> None:
    find = "SELECT claim FROM delivery WHERE number = ?"
    claim = await outbox.database.read(lambda conn: conn.execute(find, (number,)).fetchone()[0])
    match verb:
        case "start":
            await outbox.loop.start(start_of(number))
        case "mark":
            await outbox.loop.mark(number, claim, NOON)
        case "finish":
            await outbox.loop.finish(outcome_of(number, claim, with_, due_at=NOON))
        case _:
            await outbox.loop.end_expired(Instant(NOON + 2 * SECOND), 10)


async def do_about_doubt(outbox: Outbox, number: int, with_: object) -> None:
    match with_:
        case TokenKind() as kind:
            await PostOffice(outbox).publish(in_mail(), token_of(number, kind))
        case OnUncertain() as kind:
            turn = PolicyTurn("support", kind, NOON, NOON, 10)
            await outbox.doubts.settle_due(turn)
        case _:
            raise AssertionError(with_)


async def do_by_hand(outbox: Outbox, number: int, verb: str, with_: object) -> None:
    match verb, with_:
        case "cancel", _:
            await outbox.admin.cancel_job(1, ACTOR, NOON)
        case "retry", _:
            await outbox.admin.retry(number, ACTOR, NOON)
        case "resolve", Verdict() as verdict:
            await outbox.admin.resolve(number, verdict, ACTOR, NOON)
        case "suppress", True:
            await outbox.admin.suppress("support", "a@x.example", "asked", ACTOR, NOON)
        case "suppress", _:
            await outbox.admin.unsuppress("support", "a@x.example")
        case "pause", True:
            await outbox.admin.pause("support", "why", ACTOR, NOON)
        case _:
            await outbox.admin.resume("support", ACTOR, NOON)


async def check(directory: Path) -> None:
    states = []
    for number, state, due_at, settled_at, marked_at in rows_in(
        directory, "SELECT number, state, due_at, settled_at, marked_at FROM delivery"
    ):
        now = S(state)
        states.append(now)
        rows = rows_in(
            directory,
            "SELECT before, after FROM history WHERE delivery = ? ORDER BY number",
            number,
        )
        assert rows[0][0] is None
        assert rows[-1][1] == now
        policy = "SELECT count(*) FROM history WHERE delivery = ? AND by = 'policy' AND after = 'pending'"
        assert rows_in(directory, policy, number)[0] <= (1,)
        for earlier, row in pairwise(rows):
            assert row[0] == earlier[1]
            assert may_become(S(row[0]), S(row[1]))
        assert (due_at is not None) >= (now in WAITING)
        assert (settled_at is not None) == (now not in UNSETTLED)
        assert marked_at is None or now in {S.SENDING, S.UNCERTAIN}
    ((status,),) = rows_in(directory, "SELECT settled_status FROM job")
    is_open = any(state in UNSETTLED for state in states)
    assert status == (None if is_open else job_status(states))
