"""New settings for a relay or a mailbox at work: no bound is filled up, nobody under way is forgotten, breakers stay."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.breaker import CLOSED, BreakerState, fault, renewed, trip
from postroom.core.changeover import change_mailbox, change_relay
from postroom.core.health import relay_after
from postroom.core.instant import MINUTE, SECOND
from postroom.core.mailbox import DomainPace, Lane, LaneShares, Pace, Tls
from postroom.core.pace import Gcra, changed_gcra, gcra, meter
from postroom.core.reason import ReasonCode
from postroom.core.reply import Stage
from postroom.core.world import World
from support.decide_world import Waiting, a_world, at, moment, seconds


SHARES = LaneShares()

rates = st.floats(0.05, 20)
bursts = st.integers(1, 12)


def take_all(found: Gcra, mono: int) -> int:
    """How many may start at this moment; they do."""
    count = 0
    while found.bound(mono).from_mono <= mono:
        found.take(mono)
        count += 1
    return count


@given(st.lists(st.tuples(rates, bursts, st.integers(0, 20 * SECOND)), min_size=2, max_size=8))
def test_greedy_starts_never_exceed_what_each_rate_gives_and_the_largest_burst(
    phases: list[tuple[float, int, int]],
) -> None:
    """However settings follow each other, as fast as they may."""
    mono, started, given_by_rates = 1_000 * SECOND, 0, 0.0
    found = gcra(phases[0][0], phases[0][1])
    for rate, burst, length in phases:
        found = changed_gcra(found, rate, burst, mono)
        assert found is not None
        for _ in range(2):
            started += take_all(found, mono)
            mono += length // 2
            given_by_rates += rate * (length // 2) / SECOND
        largest = max(one[1] for one in phases)
        assert started <= largest + given_by_rates + 1e-3


@given(rates, bursts, rates, bursts, st.integers(0, 12), st.integers(0, 30 * SECOND))
def test_a_change_leaves_what_was_left_and_never_more(
    rate: float, burst: int, new_rate: float, new_burst: int, taken: int, passed: int
) -> None:
    before = gcra(rate, burst)
    assert before is not None
    for _ in range(min(taken, burst)):
        before.take(0)
    left = burst - before.bound(passed).used
    after = changed_gcra(before, new_rate, new_burst, passed)
    assert after is not None
    assert take_all(after, passed) <= min(left, new_burst)


@given(rates, bursts, st.integers(0, 12))
def test_the_same_pace_is_the_same_meter(rate: float, burst: int, taken: int) -> None:
    before = gcra(rate, burst)
    assert before is not None
    for _ in range(taken):
        before.take(0)
    assert changed_gcra(before, rate, burst, 5) is before


def test_a_bound_that_was_not_there_begins_empty_and_one_that_goes_is_gone() -> None:
    found = changed_gcra(None, 0.5, 3, 100 * SECOND)
    assert found is not None
    assert found.bound(100 * SECOND).from_mono == 102 * SECOND
    assert changed_gcra(found, None, 1, 101 * SECOND) is None


def test_windows_keep_their_counts_under_another_limit() -> None:
    found = meter(Pace(per_minute=5, per_day=5))
    for n in range(4):
        found.take(Lane.HIGH, n * SECOND)
    fresh = found.change(Pace(per_minute=4, per_day=100), 5 * SECOND)
    assert (fresh.second, fresh.minute, fresh.day) == (None, None, None)
    pace, cap = (one(Lane.HIGH, SHARES, 5 * SECOND) for one in (found.pace, found.cap))
    assert pace is not None
    assert (pace.used, pace.allowed) == (4, 4)
    assert pace.from_mono > 5 * SECOND
    assert cap is not None
    assert (cap.used, cap.allowed) == (4, 100)


def test_a_window_that_was_not_there_is_filled_by_whoever_knows_more() -> None:
    found = meter(Pace(per_minute=5))
    found.take(Lane.HIGH, moment().mono)
    fresh = found.change(Pace(per_minute=5, per_day=2), moment().mono)
    assert fresh.minute is None
    fresh.restore(Lane.HIGH, moment().at // MINUTE - 10, 2, moment())
    cap = found.cap(Lane.HIGH, SHARES, moment().mono)
    assert cap is not None
    assert cap.used == 2
    minute = found.pace(Lane.HIGH, SHARES, moment().mono)
    assert minute is not None
    assert minute.used == 1
    gone = found.change(Pace(), moment().mono)
    assert (found.minute, found.day, gone.minute) == (None, None, None)


def world_with(breaker: object = CLOSED) -> World:
    world = a_world()
    world.relay.breaker = world.mailbox.breaker = breaker  # type: ignore[assignment]
    return world


DENIED = trip(CLOSED, ReasonCode.AUTH_FAILED, at())
ACCESS = {
    "host": {"host": "other.example.net"},
    "port": {"port": 26},
    "tls": {"tls": Tls.IMPLICIT},
    "authority": {"tls_ca": "ca.pem"},
    "user": {"username": "us"},
    "password": {"password": "hunter2"},
}


@pytest.mark.parametrize("case", ACCESS)
def test_a_relay_that_is_reached_in_another_way_is_probed_at_once(case: str) -> None:
    world = world_with(DENIED)
    world.relay.probing = True
    relay = replace(world.relay.relay, **ACCESS[case])  # type: ignore[arg-type]
    change_relay(world.relay, relay, moment(5))
    assert world.relay.relay is relay
    assert world.relay.breaker.probe_at == at(5)
    assert world.relay.breaker.state is BreakerState.OPEN
    assert not world.relay.probing


def test_a_relay_with_other_bounds_alone_keeps_its_breaker() -> None:
    world = world_with(DENIED)
    relay = replace(world.relay.relay, concurrency=3, pace=Pace(per_second=1))
    change_relay(world.relay, relay, moment(5))
    assert world.relay.breaker is DENIED
    assert world.relay.era == 0


@pytest.mark.parametrize("change", [{"address": "b@example.com"}, {"relay_id": "other"}])
def test_a_mailbox_that_sends_otherwise_is_probed_at_once(change: dict[str, str]) -> None:
    world = world_with(trip(CLOSED, ReasonCode.SENDER_REFUSED, at()))
    world.mailbox.avoid = "a.example"
    change_mailbox(world.mailbox, replace(world.mailbox.mailbox, **change), moment(5))  # type: ignore[arg-type]
    assert world.mailbox.breaker.probe_at == at(5)
    assert world.mailbox.avoid is None


def test_a_mailbox_with_other_rules_alone_keeps_its_breaker_and_its_pause() -> None:
    refused = trip(CLOSED, ReasonCode.SENDER_REFUSED, at())
    world = world_with(refused)
    world.mailbox.paused_by = "operator"
    change_mailbox(world.mailbox, replace(world.mailbox.mailbox, concurrency=9), moment(5))
    assert world.mailbox.breaker is refused
    assert world.mailbox.paused_by == "operator"


def test_what_began_before_says_nothing_of_the_relay_as_it_is_now() -> None:
    world = world_with(DENIED)
    held = world.reserve(Waiting(), moment())
    assert world.is_about_relay(held)
    relay = replace(world.relay.relay, password="right")
    change_relay(world.relay, relay, moment(5))
    assert not world.is_about_relay(held)
    probe = world.reserve(Waiting(2), moment(6))
    world.release(held, reached_mail=False)
    assert world.relay.probing
    assert world.relay.in_flight == 1
    world.release(probe, reached_mail=True)
    assert not world.relay.probing
    assert world.relay.in_flight == 0


def test_a_renewed_breaker_waits_from_the_beginning_again_and_forgets_old_faults() -> None:
    opened = trip(CLOSED, ReasonCode.AUTH_FAILED, at())
    late = renewed(replace(opened, probe_s=3600, good_in_row=1), at(5))
    assert (late.probe_s, late.good_in_row) == (15 * 60, 0)
    assert renewed(fault(CLOSED, at(), seconds(60)), at(1)) is CLOSED
    assert relay_after(late, Stage.DOT, None, at(6), seconds(60)).state is BreakerState.HALF_OPEN


def test_domains_come_go_and_keep_what_is_known_of_them() -> None:
    world = a_world(domain_pace={"a.example": DomainPace(1.0, 2), "b.example": DomainPace(1.0)})
    held = world.reserve(Waiting(domain="a.example"), moment())
    world.pause_domain("c.example", at(60), ReasonCode.RATE_LIMITED, at())

    def change(**paces: DomainPace) -> None:
        named = {f"{name}.example": pace for name, pace in paces.items()}
        box = replace(world.mailbox.mailbox, domain_pace=named)
        change_mailbox(world.mailbox, box, moment())

    change(c=DomainPace(concurrency=1), d=DomainPace(1.0))
    domains = world.mailbox.domains
    assert set(domains) == {
        "a.example",
        "c.example",
        "d.example",
    }  # one is under way, one is paused
    assert domains["a.example"].second is None
    assert (domains["c.example"].paused_until, domains["c.example"].pace.concurrency) == (at(60), 1)
    world.release(held, reached_mail=True)
    change()
    assert set(domains) == {"c.example"}
    change(a=DomainPace(1.0, 2))
    second = domains["a.example"].second
    assert second is not None
    assert second.bound(moment().mono).from_mono > moment().mono
    assert domains["a.example"].in_flight == 0


def test_the_share_of_bulk_goes_on() -> None:
    world = a_world(lanes=LaneShares(bulk_per_second=1))
    world.reserve(Waiting(lane=Lane.BULK), moment())
    box = replace(world.mailbox.mailbox, lanes=LaneShares(bulk_per_second=2))
    change_mailbox(world.mailbox, box, moment())
    assert world.mailbox.bulk is not None
    assert world.mailbox.bulk.bound(moment().mono).from_mono == moment(0.5).mono
