"""May it go now: the gates of time, hold, pace and breakers, each alone, and that loop and explain are one."""

from dataclasses import replace

import pytest

from postroom.core.admit import Finding, Wait, admit, explain
from postroom.core.breaker import Breaker
from postroom.core.delivery import DeliveryState
from postroom.core.gates import GATES, Reach
from postroom.core.instant import Instant
from postroom.core.mailbox import DomainPace, Lane, Pace
from postroom.core.reason import ReasonCode
from support.decide_gates import OPEN, PLAIN, blocked_by, finding
from support.decide_world import Waiting, a_world, at, moment


def test_with_nothing_in_its_way_a_delivery_goes() -> None:
    for lane in Lane:
        assert (
            blocked_by(Waiting(lane=lane, has_attachments=True, is_suspect=True), a_world()) is None
        )


def test_explain_lists_every_gate_in_the_order_of_the_contract() -> None:
    names = [found.gate for found in explain(PLAIN, a_world(), moment())]
    assert names == [gate.name for gate in GATES]
    order = [
        names.index(name)
        for name in (
            "send_time",
            "hold",
            "mailbox_pace",
            "relay_pace",
            "daily_cap",
            "domain_pace",
            "mailbox_breaker",
            "backoff",
            "lane_share",
            "slots",
            "drain",
            "precondition",
        )
    ]
    assert order == sorted(order)


def test_before_its_time_it_waits_and_the_time_is_told() -> None:
    row = Waiting(due_at=at(60))
    assert blocked_by(row, a_world()) == "send_time"
    found = finding("send_time", row, a_world())
    assert found.until == at(60)
    assert isinstance(found.threshold, str)
    assert found.threshold.endswith("Z")
    assert finding("backoff", row, a_world()).is_passed
    assert blocked_by(row, a_world(), 60) is None


def test_a_retry_waits_for_its_backoff() -> None:
    row = Waiting(due_at=at(60), state=DeliveryState.RETRY_SCHEDULED)
    assert blocked_by(row, a_world()) == "backoff"
    assert finding("backoff", row, a_world()).until == at(60)
    assert blocked_by(row, a_world(), 60) is None


def test_what_is_held_waits_for_a_person() -> None:
    row = Waiting(state=DeliveryState.HELD)
    assert blocked_by(row, a_world()) == "hold"
    assert finding("hold", row, a_world()) == Finding(
        "hold", is_passed=False, value="held", threshold="not held", until=None
    )


def test_a_paused_mailbox_sends_nothing() -> None:
    world = a_world()
    world.mailbox.paused_by = "uid:0"
    assert blocked_by(PLAIN, world) == "hold"
    assert "paused" in str(finding("hold", PLAIN, world).value)


@pytest.mark.parametrize(
    ("gate", "limits"),
    [
        pytest.param("mailbox_pace", {"pace": Pace(per_second=0.5)}, id="mailbox, per second"),
        pytest.param("mailbox_pace", {"pace": Pace(per_minute=1)}, id="mailbox, per minute"),
        pytest.param("relay_pace", {"relay_pace": Pace(per_second=0.5)}, id="relay, per second"),
        pytest.param("relay_pace", {"relay_pace": Pace(per_minute=1)}, id="relay, per minute"),
        pytest.param("daily_cap", {"pace": Pace(per_day=1)}, id="mailbox, per day"),
        pytest.param("relay_daily_cap", {"relay_pace": Pace(per_day=1)}, id="relay, per day"),
        pytest.param(
            "domain_pace",
            {"domain_pace": {"example.com": DomainPace(per_second=0.5)}},
            id="domain, per second",
        ),
    ],
)
def test_over_the_pace_it_waits_until_there_is_room(gate: str, limits: dict[str, object]) -> None:
    world = a_world(**limits)  # type: ignore[arg-type]
    assert blocked_by(PLAIN, world) is None
    world.release(world.reserve(PLAIN, moment()), reached_mail=True)
    assert blocked_by(PLAIN, world, 0.1) == gate
    until = finding(gate, PLAIN, world, 0.1).until
    assert until is not None
    passed = (until - at()) / 1_000_000
    assert blocked_by(PLAIN, world, passed - 0.001) == gate
    assert blocked_by(PLAIN, world, passed) is None


def test_the_pace_of_one_domain_leaves_the_others_alone() -> None:
    world = a_world(domain_pace={"example.com": DomainPace(concurrency=1)})
    held = world.reserve(PLAIN, moment())
    assert blocked_by(PLAIN, world) == "domain_pace"
    assert blocked_by(Waiting(domain="other.example"), world) is None
    world.release(held, reached_mail=True)
    assert blocked_by(PLAIN, world) is None


def test_a_paused_domain_waits_and_the_others_go() -> None:
    world = a_world()
    world.pause_domain("example.com", at(600), ReasonCode.DOMAIN_DEFERRED, at())
    assert blocked_by(PLAIN, world) == "domain_pause"
    assert finding("domain_pause", PLAIN, world).until == at(600)
    assert blocked_by(Waiting(domain="other.example"), world) is None
    assert blocked_by(PLAIN, world, 600) is None


@pytest.mark.parametrize("whose", ["mailbox", "relay"])
def test_an_open_breaker_lets_one_probe_through_when_it_is_due(whose: str) -> None:
    world = a_world()
    state = world.mailbox if whose == "mailbox" else world.relay
    state.breaker = OPEN
    gate = f"{whose}_breaker"
    assert blocked_by(PLAIN, world) == gate
    assert finding(gate, PLAIN, world).until == at(30)
    assert finding(gate, PLAIN, world).value == "open: relay.unreachable"
    assert finding(gate, PLAIN, world).threshold == "closed"
    assert finding(gate, PLAIN, world, 30).threshold == "closed"
    assert blocked_by(PLAIN, world, 30) is None
    probe = world.reserve(PLAIN, moment(30))
    assert blocked_by(PLAIN, world, 31) == gate
    under_way = finding(gate, PLAIN, world, 31)
    assert (under_way.threshold, under_way.until) == ("closed", None)
    world.release(probe, reached_mail=True)
    assert blocked_by(PLAIN, world, 32) is None


def test_a_closed_breaker_waits_a_moment_after_a_fault() -> None:
    world = a_world()
    world.relay.breaker = Breaker(faults_in_row=1, probe_at=at(0.2))
    assert blocked_by(PLAIN, world) == "relay_breaker"
    assert finding("relay_breaker", PLAIN, world).value == "closed, faults in a row: 1"
    assert blocked_by(PLAIN, world, 0.2) is None


def test_nothing_starts_while_the_daemon_drains() -> None:
    world = a_world()
    world.host.is_draining = True
    assert blocked_by(PLAIN, world) == "drain"
    drain = finding("drain", PLAIN, world)
    assert (drain.value, drain.threshold) == ("draining", "running")


def test_what_is_past_its_time_does_not_start() -> None:
    row = Waiting(not_after=at(5))
    assert blocked_by(row, a_world(), 5) is None
    assert blocked_by(row, a_world(), 5.1) == "precondition"


def test_what_is_blocked_for_all_says_so() -> None:
    world = a_world()
    world.host.is_draining = True
    answer = admit(PLAIN, world, moment())
    assert isinstance(answer, Wait)
    assert answer.gate.reach is Reach.HOST


def test_waits_of_a_damaged_clock_are_shortened_to_what_they_can_be() -> None:
    world = a_world(domain_pace={"paced.example": DomainPace(per_second=1)})
    years = Instant(at() + 10**15)
    world.relay.breaker = replace(OPEN, probe_at=years)
    world.mailbox.breaker = Breaker(probe_at=years)
    world.pause_domain("example.com", years, ReasonCode.DOMAIN_DEFERRED, at())
    world.mend(at())
    assert world.relay.breaker.probe_at == at(900)
    assert world.mailbox.breaker.probe_at == at(1.6)
    assert world.mailbox.domains["example.com"].paused_until == at(4 * 3600)
    mended = world.relay.breaker
    world.mend(at(1))
    assert world.relay.breaker == mended
