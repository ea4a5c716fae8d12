"""Every gate decides for the loop and for people alike: broken, it shows in what starts and in what explain says."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from postroom.core import admit
from postroom.core.breaker import Breaker, BreakerState
from postroom.core.delivery import DeliveryState
from postroom.core.gates import GATES, Blocked, Gate, Passed
from postroom.core.instant import SECOND, Instant, Moment
from postroom.core.mailbox import DomainPace, Lane, LaneShares, Pace
from postroom.core.reason import ReasonCode
from postroom.core.slowing import Stream
from postroom.ports.relay import Dialogue, Envelope
from support.clock import START, settle
from support.loop import Loop, loop, mailbox, relay
from support.loop_parts import SENT


DAY = 24 * 3600 * SECOND
TOMORROW = Instant(START + DAY)
OPEN = Breaker(BreakerState.OPEN, ReasonCode.RELAY_UNREACHABLE, probe_at=TOMORROW, probe_s=900)


def nothing(run: Loop) -> None:
    """The world as it is built."""


def only_bulk(**more: Any) -> dict[str, Any]:
    return {"lane": Lane.BULK, **more}


@dataclass(frozen=True)
class Scene:
    """A world in which this gate, and no other, holds back the last of `rows`; what is under way stays so if `is_slow`."""

    rows: tuple[dict[str, Any], ...] = ({},)
    a: tuple[tuple[str, Any], ...] = ()
    relay: tuple[tuple[str, Any], ...] = ()
    slots: int = 200
    prepare: Callable[[Loop], None] = nothing
    is_slow: bool = False


def said(**changes: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(changes.items())


def _pause(run: Loop) -> None:
    _world(run).mailbox.paused_by = "operator"


def _pause_domain(run: Loop) -> None:
    _world(run).pause_domain(
        "customer.example", TOMORROW, ReasonCode.DOMAIN_DEFERRED, run.clock.now()
    )


def _slow_domain(run: Loop) -> None:
    _slow(run, _world(run).relay.stream("customer.example"))


def _slow_relay(run: Loop) -> None:
    _slow(run, _world(run).relay.total)


def _slow(run: Loop, stream: Stream) -> None:
    now = Moment(run.clock.now(), run.clock.monotonic())
    stream.throttle(ReasonCode.DOMAIN_DEFERRED, 1, 0, now)


def _open_mailbox(run: Loop) -> None:
    _world(run).mailbox.breaker = OPEN


def _open_relay(run: Loop) -> None:
    _world(run).relay.breaker = OPEN


def _all_slow(run: Loop) -> None:
    run.host.slow = run.host.slots


def _drain(run: Loop) -> None:
    run.host.is_draining = True


def _world(run: Loop) -> Any:
    return run.dispatcher._lines._lines["a"].world


TWO = ({}, {})
TWO_BULK = (only_bulk(), only_bulk())
TWO_HEAVY = ({"has_attachments": True}, {"has_attachments": True})
SCENES = {
    "send_time": Scene(rows=({"due_at": TOMORROW},)),
    "hold": Scene(prepare=_pause),
    "mailbox_pace": Scene(TWO, a=said(pace=Pace(per_second=0.001))),
    "relay_pace": Scene(TWO, relay=said(pace=Pace(per_minute=1))),
    "relay_slowed": Scene(prepare=_slow_relay),
    "daily_cap": Scene(TWO, a=said(pace=Pace(per_day=1))),
    "relay_daily_cap": Scene(TWO, relay=said(pace=Pace(per_day=1))),
    "domain_pause": Scene(prepare=_pause_domain),
    "domain_pace": Scene(
        TWO, a=said(domain_pace={"customer.example": DomainPace(per_second=0.001)})
    ),
    "domain_slowed": Scene(prepare=_slow_domain),
    "mailbox_breaker": Scene(prepare=_open_mailbox),
    "relay_breaker": Scene(prepare=_open_relay),
    "backoff": Scene(rows=({"due_at": TOMORROW, "state": DeliveryState.RETRY_SCHEDULED},)),
    "lane_share": Scene(TWO_BULK, a=said(lanes=LaneShares(bulk_per_second=0.001))),
    "mailbox_bulk_share": Scene(TWO_BULK, a=said(concurrency=2), is_slow=True),
    "relay_bulk_share": Scene(TWO_BULK, relay=said(concurrency=2), is_slow=True),
    "mailbox_attachment_share": Scene(TWO_HEAVY, a=said(concurrency=2), is_slow=True),
    "relay_attachment_share": Scene(TWO_HEAVY, relay=said(concurrency=2), is_slow=True),
    "mailbox_connections": Scene(TWO, a=said(concurrency=1), is_slow=True),
    "relay_connections": Scene(TWO, relay=said(concurrency=1), is_slow=True),
    "mailbox_slots": Scene(({}, {}, {}), slots=4, is_slow=True),
    "attachment_slots": Scene(
        ({"box": "b", "has_attachments": True}, {"has_attachments": True}), slots=3, is_slow=True
    ),
    "suspect_slots": Scene(({"is_suspect": True}, {"is_suspect": True}), is_slow=True),
    "slots": Scene(({"box": "b"}, {}), slots=1, is_slow=True),
    "slow_slots": Scene(prepare=_all_slow),
    "drain": Scene(prepare=_drain),
    "precondition": Scene(rows=({"not_after": Instant(START - SECOND)},)),
}
# Rows that are not due are not even read, and a loop that drains decides nothing.
KEPT_TWICE = {"send_time", "backoff", "drain"}
# Nor does a queue have a head that is not due, comes when the loop has stopped reading, or was ended at once.
HEADLESS = KEPT_TWICE | {"precondition"}


def passes(gate: Gate) -> Gate:
    return replace(gate, check=lambda row, world, now: Passed())


def blocks(gate: Gate) -> Gate:
    return replace(gate, check=lambda row, world, now: Blocked("broken", "whole", None))


def break_gate(monkeypatch: pytest.MonkeyPatch, name: str, how: Callable[[Gate], Gate]) -> None:
    broken = tuple(how(gate) if gate.name == name else gate for gate in GATES)
    monkeypatch.setattr(admit, "GATES", broken)


def build(scene: Scene) -> tuple[Loop, list[int]]:
    run = loop(
        mailbox("a", **dict(scene.a)),
        mailbox("b"),
        relays=(relay(**dict(scene.relay)),),
        slots=scene.slots,
    )

    async def hang(envelope: Envelope) -> Dialogue:
        await run.clock.sleep(10_000)
        return SENT

    if scene.is_slow:
        run.pools["main"].script = lambda envelope: hang(envelope) if envelope.recipient else SENT
    scene.prepare(run)
    return run, []


async def play(scene: Scene) -> tuple[bool, list[str]]:
    """Whether the last row of the scene starts, and the gates that explain names as blocked where it does not."""
    run, numbers = build(scene)
    async with run:
        for row in scene.rows:
            given = {"box": "a", **row}
            numbers.append(run.store.add(given.pop("box"), **given))
            await settle()
        last = run.store.rows[numbers[-1]]
        findings = run.dispatcher.explain(last.waiting)
        is_started = last.claim > 0
        run.clock.advance(10_000)
        return is_started, [one.gate for one in findings if not one.is_passed]


def test_every_gate_has_its_scene() -> None:
    assert list(SCENES) == [gate.name for gate in GATES]


@pytest.mark.parametrize("name", SCENES)
async def test_what_a_gate_holds_back_does_not_start_and_explain_names_it_alone(name: str) -> None:
    assert await play(SCENES[name]) == (False, [name])


@pytest.mark.parametrize("name", [name for name in SCENES if name not in KEPT_TWICE])
async def test_without_a_gate_the_loop_starts_what_explain_then_calls_free(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_gate(monkeypatch, name, passes)
    is_started, blocked = await play(SCENES[name])
    assert is_started
    assert name not in blocked


@pytest.mark.parametrize("name", SCENES)
async def test_a_gate_that_lets_nobody_through_stops_the_loop_and_is_what_explain_names(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_gate(monkeypatch, name, blocks)
    assert await play(Scene()) == (False, [name])


@pytest.mark.parametrize("name", SCENES)
async def test_the_head_of_every_queue_waits_at_the_gate_that_explain_names_first(
    name: str,
) -> None:
    run, numbers = build(SCENES[name])
    async with run:
        for row in SCENES[name].rows:
            given = {"box": "a", **row}
            numbers.append(run.store.add(given.pop("box"), **given))
            await settle()
        queues = run.dispatcher.queues()
        for queue in queues:
            if queue.first is not None:
                findings = run.dispatcher.explain(queue.first)
                assert queue.finding == next(one for one in findings if not one.is_passed)
        stopped = [queue.finding.gate for queue in queues if queue.finding is not None]
        assert stopped == ([] if name in HEADLESS else [name])
        run.clock.advance(10_000)
