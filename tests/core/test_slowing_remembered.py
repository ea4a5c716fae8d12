"""What is kept of a slow-down: after a restart, of how many domains, and for how long."""

import pytest

from postroom.core.instant import SECOND
from postroom.core.reason import ReasonCode
from postroom.core.slowing import FORGOTTEN, Slowing, Stream
from postroom.core.world import SLOWED, STREAMS
from support.decide_slowing import OTHER, PLAIN, end, slow, throttled
from support.decide_world import Waiting, a_world, at, moment


R = ReasonCode.DOMAIN_DEFERRED
DAY_S = 24 * 3600


@pytest.mark.parametrize(
    ("age_s", "left_s"),
    [
        pytest.param(0, DAY_S, id="told just now"),
        pytest.param(3600, DAY_S - 3600, id="told an hour ago"),
        pytest.param(-3600, DAY_S, id="told in the future: the clock went back"),
        pytest.param(10 * DAY_S, 0, id="told long ago"),
    ],
)
def test_after_a_restart_it_is_as_slow_and_lasts_no_longer(age_s: int, left_s: int) -> None:
    slowing = Slowing(R, 20, 20, 0.5, at(-age_s), at(-age_s))
    stream = Stream()
    stream.restore(slowing, moment())
    if left_s:
        assert stream.slowed(moment(left_s - 1).mono) == slowing
        assert stream.room_from(slowing) == moment(6).mono
    assert stream.slowed(moment(left_s).mono) is None


def test_so_many_domains_are_slowed_down_and_no_more() -> None:
    world = a_world()
    moved = []
    for n in range(SLOWED + 3):
        row = Waiting(domain=f"d{n}.example")
        held = world.reserve(row, moment(n))
        moved += end(world, held, throttled(), moment(n), row.domain)
    freed = [one.domain for one in moved if one.after is None]
    assert freed == ["d0.example", "d1.example", "d2.example"]
    assert len(world.relay.slow_domains(moment(SLOWED + 3).mono)) == SLOWED


def test_a_million_domains_are_not_remembered() -> None:
    world = a_world()
    slow(world)
    kept = world.reserve(OTHER, moment())
    for n in range(3 * STREAMS):
        row = Waiting(domain=f"d{n}.example")
        end(world, world.reserve(row, moment(n)), None, moment(n), row.domain)
    assert len(world.relay.streams) == STREAMS
    assert world.relay.streams["example.com"].slowing is not None
    assert world.relay.streams["other.example"] is kept.stream


def test_what_is_under_way_is_always_counted() -> None:
    world = a_world()
    rows = [Waiting(domain=f"d{n}.example") for n in range(STREAMS + 2)]
    held = [world.reserve(row, moment()) for row in rows]
    assert [world.relay.streams[row.domain].in_flight for row in rows] == [1] * len(rows)
    for one in held:
        world.release(one, reached_mail=True)
    world.reserve(PLAIN, moment(1))
    assert len(world.relay.streams) <= STREAMS + 2


def test_what_is_forgotten_is_told_in_a_day() -> None:
    assert FORGOTTEN == DAY_S * SECOND
