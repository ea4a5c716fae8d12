"""May it go now: connections and slots, who shares them with whom, and that whatever is taken is given back."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.breaker import Breaker
from postroom.core.mailbox import DomainPace, Lane, LaneShares, Pace
from support.decide_gates import OPEN, PLAIN, blocked_by, finding
from support.decide_world import Waiting, a_world, at, moment


BULK = Waiting(lane=Lane.BULK)


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


def test_a_mailbox_has_half_of_the_slots_and_two_where_there_are() -> None:
    for slots, half in ((1, 1), (2, 2), (3, 2), (6, 3), (200, 100)):
        assert finding("mailbox_slots", PLAIN, a_world(slots=slots)).threshold == half


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
