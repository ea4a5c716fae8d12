"""What is counted while a delivery is under way, and what is left of it afterwards."""

from dataclasses import replace

import pytest

from postroom.core.breaker import CLOSED, Breaker, BreakerState
from postroom.core.instant import MINUTE, Moment
from postroom.core.mailbox import DomainPace, Lane, LaneShares, Pace
from postroom.core.reason import ReasonCode
from postroom.core.slowing import FORGOTTEN
from postroom.core.world import DOMAINS, DomainState, World
from support.decide_world import Waiting, a_world, at, moment


PLAIN = Waiting()
HEAVY = Waiting(lane=Lane.BULK, has_attachments=True, is_suspect=True)
OPEN = Breaker(BreakerState.OPEN, ReasonCode.RELAY_UNREACHABLE, probe_at=at(), probe_s=30)


def counted(world: World) -> tuple[int, ...]:
    """Under way, of them in bulk, of them with files, for relay and mailbox; slots, slots with files, suspects."""
    relay, mailbox, host = world.relay, world.mailbox, world.host
    return (
        *(relay.in_flight, relay.bulk_in_flight, relay.heavy_in_flight),
        *(mailbox.in_flight, mailbox.bulk_in_flight, mailbox.heavy_in_flight),
        *(mailbox.in_slots, host.in_slots, host.with_attachments, host.suspects),
    )


def test_each_start_is_counted_as_what_it_is() -> None:
    world = a_world()
    plain = world.reserve(PLAIN, moment())
    assert counted(world) == (1, 0, 0, 1, 0, 0, 1, 1, 0, 0)
    heavy = world.reserve(HEAVY, moment())
    assert counted(world) == (2, 1, 1, 2, 1, 1, 2, 2, 1, 1)
    world.leave_slots(heavy)
    assert counted(world) == (2, 1, 1, 2, 1, 1, 1, 1, 0, 1)
    world.release(plain, reached_mail=True)
    assert counted(world) == (1, 1, 1, 1, 1, 1, 0, 0, 0, 1)
    world.release(heavy, reached_mail=True)
    assert counted(world) == (0,) * 10


def test_a_start_that_never_reached_mail_leaves_its_place_in_every_window() -> None:
    for reached_mail, used in ((True, 1), (False, 0)):
        world = a_world(pace=Pace(per_minute=5), relay_pace=Pace(per_minute=5))
        world.release(world.reserve(PLAIN, moment()), reached_mail=reached_mail)
        for meter in (world.mailbox.meter, world.relay.meter):
            bound = meter.pace(Lane.HIGH, LaneShares(), moment(1).mono)
            assert bound is not None
            assert bound.used == used


def test_an_end_of_another_one_leaves_the_probe_under_way() -> None:
    world = a_world()
    other = world.reserve(PLAIN, moment())
    world.relay.breaker = world.mailbox.breaker = OPEN
    probe = world.reserve(PLAIN, moment())
    world.release(other, reached_mail=True)
    assert (world.relay.probing, world.mailbox.probing) == (True, True)
    world.release(probe, reached_mail=True)
    assert (world.relay.probing, world.mailbox.probing) == (False, False)


def test_a_domain_is_held_back_while_it_is_paused() -> None:
    world = a_world()
    assert not world.is_held_back("example.com", moment())
    world.pause_domain("example.com", at(60), ReasonCode.DOMAIN_DEFERRED, at())
    assert world.is_held_back("example.com", moment(59))
    assert not world.is_held_back("example.com", moment(60))
    assert not world.is_held_back("other.example", moment())


def test_domains_that_were_paused_once_do_not_stay_for_ever() -> None:
    world = a_world()
    paced = DomainPace(per_second=1)
    world.mailbox.domains["paced.example"] = DomainState(paced, None)
    for minute in range(5 * DOMAINS):
        until = at(60 * minute + 600)
        now = at(60 * minute)
        world.pause_domain(f"d{minute}.example", until, ReasonCode.DOMAIN_DEFERRED, now)
        if minute == 7:
            world.mailbox.domains["d7.example"].in_flight = 1
    known = world.mailbox.domains
    assert len(known) <= DOMAINS
    assert {
        "paced.example",
        "d7.example",
        *(f"d{5 * DOMAINS - n}.example" for n in range(1, 10)),
    } <= (known.keys())
    many = 3 * DOMAINS
    for number in range(many):
        world.pause_domain(f"at-once{number}.example", until, ReasonCode.DOMAIN_DEFERRED, now)
    assert all(world.is_held_back(f"at-once{n}.example", Moment(now, 0)) for n in range(many))


def test_a_domain_is_held_back_while_it_is_slowed_down() -> None:
    world = a_world()
    held = world.reserve(PLAIN, moment())
    assert not world.is_held_back("example.com", moment())
    held.stream.throttle(ReasonCode.DOMAIN_DEFERRED, 10, held.mono, moment(1))
    assert world.is_held_back("example.com", moment(2))
    over = Moment(at(2), moment(1).mono + FORGOTTEN)
    assert not world.is_held_back("example.com", over)


def test_a_person_who_resumes_a_mailbox_ends_its_pause_and_its_breaker() -> None:
    world = a_world()
    state = world.mailbox
    state.paused_by, state.breaker, state.avoid = "uid:0", replace(OPEN), "example.com"
    world.resume(at())
    assert (state.paused_by, state.breaker, state.avoid) == (None, CLOSED, None)


LATE = replace(OPEN, probe_at=at(900), probe_s=900.0, good_in_row=0)
HALF = replace(LATE, state=BreakerState.HALF_OPEN, probe_at=at(3), good_in_row=2)
RESUMED = {
    "open: probed at once, and anew": (LATE, replace(LATE, probe_at=at(7), probe_s=30.0)),
    "half open: what went through stays counted": (HALF, HALF),
    "closed: its latest faults stay counted": (
        Breaker(faults_in_row=2, last20=3, seen=2),
        Breaker(faults_in_row=2, last20=3, seen=2),
    ),
}


@pytest.mark.parametrize(("before", "after"), RESUMED.values(), ids=RESUMED)
def test_a_person_who_resumes_a_mailbox_has_its_relay_tried(
    before: Breaker, after: Breaker
) -> None:
    world = a_world()
    world.relay.breaker = before
    world.resume(at(7))
    assert world.relay.breaker == after


def test_a_start_belongs_to_the_minute_of_the_wall_clock() -> None:
    now = moment(61)
    assert a_world().reserve(PLAIN, now).minute == now.at // MINUTE
