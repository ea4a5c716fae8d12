"""May it go now: each gate alone, what it says, and that loop and explain are one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.admit import GO, Finding, Wait, admit, explain
from postroom.core.breaker import Breaker, BreakerState
from postroom.core.delivery import DeliveryState
from postroom.core.gates import GATES, Reach
from postroom.core.instant import Instant
from postroom.core.mailbox import DomainPace, Lane, LaneShares, Pace
from postroom.core.reason import ReasonCode
from postroom.core.world import World
from support.decide_world import Waiting, a_world, at, moment


OPEN = Breaker(BreakerState.OPEN, ReasonCode.RELAY_UNREACHABLE, probe_at=at(30), probe_s=30)
PLAIN = Waiting()
BULK = Waiting(lane=Lane.BULK)


def blocked_by(row: Waiting, world: World, seconds: float = 0) -> str | None:
    """The gate that holds it back; loop and explain must agree."""
    answer = admit(row, world, moment(seconds))
    findings = [found for found in explain(row, world, moment(seconds)) if not found.is_passed]
    if answer is GO:
        assert findings == []
        return None
    assert isinstance(answer, Wait)
    assert findings[0].gate == answer.gate.name
    assert findings[0].until == answer.blocked.until
    return answer.gate.name


def finding(gate: str, row: Waiting, world: World, seconds: float = 0) -> Finding:
    (found,) = [one for one in explain(row, world, moment(seconds)) if one.gate == gate]
    return found


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
    world.pause_domain("example.com", at(600), ReasonCode.DOMAIN_DEFERRED)
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


def test_bulk_has_a_pace_of_its_own() -> None:
    world = a_world(lanes=LaneShares(bulk_per_second=0.1))
    world.release(world.reserve(BULK, moment()), reached_mail=True)
    assert blocked_by(BULK, world, 9.9) == "lane_share"
    assert blocked_by(PLAIN, world, 9.9) is None
    assert blocked_by(BULK, world, 10) is None


@pytest.mark.parametrize(
    ("gate", "limits"),
    [
        pytest.param("mailbox_bulk_share", {"concurrency": 2}, id="of a mailbox"),
        pytest.param("relay_bulk_share", {"relay_concurrency": 2}, id="of a relay"),
    ],
)
def test_one_connection_is_never_for_bulk(gate: str, limits: dict[str, int]) -> None:
    world = a_world(**limits)  # type: ignore[arg-type]
    world.reserve(BULK, moment())
    assert blocked_by(BULK, world) == gate
    assert blocked_by(PLAIN, world) is None


@pytest.mark.parametrize(
    ("gate", "row"),
    [
        pytest.param("mailbox_bulk_share", BULK, id="bulk"),
        pytest.param("mailbox_attachment_share", Waiting(has_attachments=True), id="attachments"),
    ],
)
@pytest.mark.parametrize("slots", [2, 3, 6])
def test_one_slot_of_a_mailbox_is_never_for_bulk_nor_for_attachments(
    gate: str, row: Waiting, slots: int
) -> None:
    world = a_world(slots=slots, concurrency=10)
    share = max(2, slots // 2)
    held = [world.reserve(row, moment()) for _ in range(share - 1)]
    world.host.with_attachments = 0
    assert blocked_by(row, world) == gate
    assert (finding(gate, row, world).value, finding(gate, row, world).threshold) == (
        *(share - 1, share - 1),
    )
    assert blocked_by(PLAIN, world) is None
    world.leave_slots(held[0])
    assert blocked_by(row, world) is None


def test_a_single_slot_is_for_anyone() -> None:
    world = a_world(slots=1)
    assert blocked_by(BULK, world) is None
    assert blocked_by(Waiting(has_attachments=True), world) is None


def test_a_single_connection_is_for_anyone() -> None:
    world = a_world(concurrency=1, relay_concurrency=1)
    assert blocked_by(BULK, world) is None
    assert finding("mailbox_bulk_share", BULK, world).threshold is None


@pytest.mark.parametrize(
    ("gate", "limits"),
    [
        pytest.param("mailbox_connections", {"concurrency": 1}, id="of a mailbox"),
        pytest.param("relay_connections", {"relay_concurrency": 1}, id="of a relay"),
        pytest.param("mailbox_slots", {"slots": 1}, id="half the slots for one mailbox"),
    ],
)
def test_when_all_are_in_use_it_waits_for_an_end(gate: str, limits: dict[str, int]) -> None:
    world = a_world(**limits)  # type: ignore[arg-type]
    held = world.reserve(PLAIN, moment())
    assert blocked_by(PLAIN, world) == gate
    assert finding(gate, PLAIN, world).until is None
    world.release(held, reached_mail=True)
    assert blocked_by(PLAIN, world) is None


def test_a_mailbox_with_an_open_breaker_has_one_slot() -> None:
    world = a_world()
    world.reserve(PLAIN, moment())
    for state in (world.mailbox, world.relay):
        state.breaker = replace(OPEN, probe_at=at())
        assert blocked_by(PLAIN, world) == "mailbox_slots"
        state.breaker = Breaker()
    assert blocked_by(PLAIN, world) is None


def test_attachments_leave_half_the_slots_to_plain_mail() -> None:
    world = a_world(slots=4, concurrency=10)
    heavy = Waiting(has_attachments=True)
    world.host.with_attachments = 2
    assert blocked_by(heavy, world) == "attachment_slots"
    assert blocked_by(PLAIN, world) is None


def test_suspects_are_tried_one_at_a_time() -> None:
    world = a_world()
    suspect = Waiting(is_suspect=True)
    held = world.reserve(suspect, moment())
    assert blocked_by(suspect, world) == "suspect_slots"
    assert blocked_by(PLAIN, world) is None
    world.release(held, reached_mail=False)
    assert blocked_by(suspect, world) is None


def test_when_all_slots_are_taken_it_waits() -> None:
    world = a_world(slots=2)
    world.host.in_slots = 2
    assert blocked_by(PLAIN, world) == "slots"


def test_who_waits_long_for_a_reply_frees_its_slot_but_not_its_connection() -> None:
    world = a_world(slots=1, concurrency=2)
    held = world.reserve(PLAIN, moment())
    assert blocked_by(PLAIN, world) == "mailbox_slots"
    world.leave_slots(held)
    world.leave_slots(held)
    assert (world.host.in_slots, world.host.slow, world.mailbox.in_flight) == (0, 1, 1)
    assert blocked_by(PLAIN, world) == "slow_slots"
    world.release(held, reached_mail=True)
    assert blocked_by(PLAIN, world) is None


def test_nothing_starts_while_the_daemon_drains() -> None:
    world = a_world()
    world.host.is_draining = True
    assert blocked_by(PLAIN, world) == "drain"
    drain = finding("drain", PLAIN, world)
    assert (drain.value, drain.threshold) == ("draining", "running")


def test_a_mailbox_has_half_of_the_slots_and_two_where_there_are() -> None:
    for slots, half in ((1, 1), (2, 2), (3, 2), (6, 3), (200, 100)):
        assert finding("mailbox_slots", PLAIN, a_world(slots=slots)).threshold == half


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


rows = st.builds(
    Waiting,
    lane=st.sampled_from(Lane),
    domain=st.sampled_from(["example.com", "other.example"]),
    has_attachments=st.booleans(),
    is_suspect=st.booleans(),
)


@given(st.lists(st.tuples(rows, st.booleans(), st.booleans()), max_size=30))
def test_whatever_is_reserved_is_released_whole(
    work: list[tuple[Waiting, bool, bool]],
) -> None:
    world = a_world(
        pace=Pace(per_second=5, per_minute=100, per_day=100),
        relay_pace=Pace(per_minute=100),
        lanes=LaneShares(bulk_per_second=1),
        domain_pace={"example.com": DomainPace(per_second=1, concurrency=2)},
    )
    held = []
    for row, is_slow, reached_mail in work:
        reservation = world.reserve(row, moment())
        if is_slow:
            world.leave_slots(reservation)
        held.append((reservation, reached_mail))
    flying = len(work)
    assert world.relay.in_flight == world.mailbox.in_flight == flying
    assert world.host.in_slots + world.host.slow == flying
    for reservation, reached_mail in held:
        world.release(reservation, reached_mail=reached_mail)
    host = world.host
    assert (host.in_slots, host.slow, host.suspects, host.with_attachments) == (0, 0, 0, 0)
    assert (world.relay.in_flight, world.relay.bulk_in_flight) == (0, 0)
    assert (world.mailbox.in_flight, world.mailbox.in_slots) == (0, 0)
    assert world.mailbox.bulk_in_flight == 0
    assert world.mailbox.domains["example.com"].in_flight == 0
    day = world.mailbox.meter.cap(Lane.HIGH, LaneShares(), moment().mono)
    assert day is not None
    assert day.used == sum(reached for _, reached in held)


def test_waits_of_a_damaged_clock_are_shortened_to_what_they_can_be() -> None:
    world = a_world(domain_pace={"paced.example": DomainPace(per_second=1)})
    years = Instant(at() + 10**15)
    world.relay.breaker = replace(OPEN, probe_at=years)
    world.mailbox.breaker = Breaker(probe_at=years)
    world.pause_domain("example.com", years, ReasonCode.DOMAIN_DEFERRED)
    world.mend(at())
    assert world.relay.breaker.probe_at == at(900)
    assert world.mailbox.breaker.probe_at == at(1.6)
    assert world.mailbox.domains["example.com"].paused_until == at(4 * 3600)
    mended = world.relay.breaker
    world.mend(at(1))
    assert world.relay.breaker == mended
