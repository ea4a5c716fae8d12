"""Any story of successes and complaints: it recovers, never exceeds the configured pace and holds up nobody else."""

from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from postroom.core.admit import GO, admit
from postroom.core.instant import MINUTE
from postroom.core.mailbox import Pace
from postroom.core.outcome import Verdict
from postroom.core.reason import ReasonCode
from postroom.core.replytable import Class, Scope
from postroom.core.slowing import GOOD_TO_EASE
from postroom.core.world import World
from support.decide_slowing import OTHER, end, succeed, throttled
from support.decide_world import Waiting, a_world, moment


@dataclass(frozen=True)
class Step:
    wait_s: float
    domain: str
    says: str
    starts: int


DOMAINS = ("one.example", "two.example")
STEPS = st.lists(
    st.builds(
        Step,
        wait_s=st.floats(0, 200),
        domain=st.sampled_from(DOMAINS),
        says=st.sampled_from(["ok", "domain", "relay", "unknown"]),
        starts=st.integers(1, 30),
    ),
    max_size=30,
)
VERDICTS = {
    "ok": None,
    "domain": throttled(),
    "relay": throttled(Scope.RELAY),
    "unknown": Verdict(Class.PERMANENT, Scope.RECIPIENT, ReasonCode.RECIPIENT_UNKNOWN),
}


def play(world: World, steps: list[Step]) -> float:
    """Go through the steps, starting only what may go; the moment at the end."""
    now_s = 0.0
    for step in steps:
        now_s += step.wait_s
        row = Waiting(domain=step.domain)
        now = moment(now_s)
        held = [world.reserve(row, now) for _ in range(step.starts) if admit(row, world, now) is GO]
        for one in held:
            end(world, one, VERDICTS[step.says], moment(now_s), step.domain)
    return now_s


@given(steps=STEPS)
def test_it_never_stands_still_and_never_goes_faster_than_it_did(steps: list[Step]) -> None:
    world = a_world(concurrency=100, relay_concurrency=100, slots=1000)
    now_s = play(world, steps)
    for stream in (world.relay.total, *world.relay.streams.values()):
        slowing = stream.slowing
        assert stream.in_flight == 0
        if slowing is not None:
            assert 1 <= slowing.rate <= slowing.per_minute
            assert 1 <= slowing.most <= max(1, slowing.at_once)
            assert slowing.interval <= MINUTE
    for domain in DOMAINS:
        assert admit(Waiting(domain=domain), world, moment(now_s + 60)) is GO


@settings(max_examples=30)
@given(steps=STEPS)
def test_it_always_recovers(steps: list[Step]) -> None:
    world = a_world(concurrency=100, relay_concurrency=100)
    now_s = play(world, steps)
    for domain in DOMAINS:
        row = Waiting(domain=domain)
        for _ in range(100):
            if not any(one.slowing for one in (world.relay.total, *world.relay.streams.values())):
                break
            now_s += 1
            succeed(world, GOOD_TO_EASE, moment(now_s), row)
    assert world.relay.total.slowing is None
    assert world.relay.slow_domains(moment(now_s).mono) == {}


@given(steps=STEPS)
def test_a_slowed_domain_holds_up_nobody_else(steps: list[Step]) -> None:
    world = a_world(concurrency=100, relay_concurrency=100)
    only = [replace(one, domain=DOMAINS[0]) for one in steps if one.says != "relay"]
    now_s = play(world, only)
    assert admit(OTHER, world, moment(now_s)) is GO


@given(steps=STEPS, per_minute=st.integers(1, 60))
def test_the_configured_pace_is_never_exceeded(steps: list[Step], per_minute: int) -> None:
    world = a_world(
        pace=Pace(per_minute=per_minute), concurrency=100, relay_concurrency=100, slots=1000
    )
    starts: list[float] = []
    now_s = 0.0
    for step in steps:
        now_s += step.wait_s
        row = Waiting(domain=step.domain)
        while len(starts) < 500 and admit(row, world, moment(now_s)) is GO:
            held = world.reserve(row, moment(now_s))
            starts.append(now_s)
            end(world, held, VERDICTS[step.says], moment(now_s), step.domain)
        assert sum(now_s - 60 < one <= now_s for one in starts) <= per_minute
