"""Lanes share starts as they were told to."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from postroom.core.lanes import Wheel
from postroom.core.mailbox import Lane, LaneShares


def run(shares: LaneShares, lanes: list[Lane], starts: int) -> list[Lane]:
    wheel, found = Wheel(), []
    for _ in range(starts):
        lane, wheel = wheel.turn(shares, lanes)
        found.append(lane)
    return found


def test_with_all_backlogged_starts_are_6_to_3_to_1_and_well_mixed() -> None:
    found = run(LaneShares(), list(Lane), 1000)
    for begun in range(0, 1000, 10):
        assert Counter(found[begun : begun + 10]) == {Lane.HIGH: 6, Lane.STANDARD: 3, Lane.BULK: 1}
    assert "".join(lane.word[0] for lane in found[:10]) == "hshhshbhsh"


def test_a_lane_alone_has_every_turn() -> None:
    assert set(run(LaneShares(), [Lane.BULK], 50)) == {Lane.BULK}


@given(
    st.builds(
        LaneShares, high=st.integers(1, 9), standard=st.integers(1, 9), bulk=st.integers(1, 9)
    ),
    st.lists(st.sets(st.sampled_from(Lane), min_size=1), max_size=40),
)
def test_whoever_waited_before_no_lane_is_starved(
    shares: LaneShares, before: list[set[Lane]]
) -> None:
    wheel = Wheel()
    for lanes in before:
        lane, wheel = wheel.turn(shares, lanes)
        assert lane in lanes
    found = []
    for _ in range(60):
        lane, wheel = wheel.turn(shares, list(Lane))
        found.append(lane)
    assert set(found) == set(Lane)
