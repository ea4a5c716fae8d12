"""Who may come in."""

from ipaddress import ip_network

import pytest

from postroom.inbound.door import Door, Guest
from postroom.inbound.limits import Limits
from postroom.inbound.words import Reply
from support.clock import FakeClock


TRUSTED = (ip_network("192.0.2.0/28"), ip_network("2001:db8:1::/48"))


def _door(**limits: int) -> tuple[Door, FakeClock]:
    clock = FakeClock()
    return Door(Limits(**limits), TRUSTED, clock), clock  # type: ignore[arg-type]


def _enter(door: Door, host: str) -> Guest:
    guest = door.enter(host)
    assert isinstance(guest, Guest)
    return guest


def test_an_address_has_so_many_connections_and_gets_one_back_when_one_ends() -> None:
    door, _ = _door(per_address=2)
    first = _enter(door, "198.51.100.1")
    _enter(door, "198.51.100.1")
    assert door.enter("198.51.100.1") is Reply.TOO_BUSY
    _enter(door, "198.51.100.2")
    door.leave(first)
    _enter(door, "198.51.100.1")


def test_a_network_of_ipv6_is_one_address() -> None:
    door, _ = _door(per_address=1)
    _enter(door, "2001:db8::1%eth0")
    assert door.enter("2001:db8::ffff:2") is Reply.TOO_BUSY
    _enter(door, "2001:db8:0:1::1")


def test_ipv4_is_the_same_address_on_an_ipv6_socket() -> None:
    door, _ = _door(per_address=1)
    assert _enter(door, "::ffff:198.51.100.1").ip == "198.51.100.1"
    assert door.enter("198.51.100.1") is Reply.TOO_BUSY


def test_so_many_connections_in_a_minute_then_the_next_minute() -> None:
    door, clock = _door(per_minute=3)
    for _ in range(3):
        door.leave(_enter(door, "198.51.100.1"))
    assert door.enter("198.51.100.1") is Reply.TOO_FAST
    _enter(door, "198.51.100.2")
    clock.advance(60)
    _enter(door, "198.51.100.1")


def test_there_are_so_many_in_all() -> None:
    door, _ = _door(connections=3, kept_for_others=1)
    guests = [_enter(door, f"198.51.100.{n}") for n in range(3)]
    assert door.enter("198.51.100.9") is Reply.TOO_BUSY
    assert door.enter("192.0.2.1") is Reply.TOO_BUSY
    door.leave(guests[0])
    _enter(door, "198.51.100.9")


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8:1::25", "::ffff:192.0.2.3"])
def test_a_trusted_relay_has_all_but_what_is_kept_for_others(host: str) -> None:
    door, _ = _door(connections=6, kept_for_others=2, per_address=1, per_minute=1)
    for _ in range(4):
        assert _enter(door, host).is_trusted
    assert door.enter(host) is Reply.TOO_BUSY
    _enter(door, "198.51.100.1")
    _enter(door, "198.51.100.2")


def test_who_asks_for_too_many_unknown_waits_for_the_answer_but_never_a_trusted_relay() -> None:
    door, clock = _door(unknown_free=2)
    stranger, relay = _enter(door, "198.51.100.1"), _enter(door, "192.0.2.1")
    assert [door.asked_for_unknown(stranger) for _ in range(4)] == [False, False, True, True]
    assert not any(door.asked_for_unknown(relay) for _ in range(9))
    clock.advance(600)
    assert not door.asked_for_unknown(stranger)


def test_a_flood_from_everywhere_takes_no_memory() -> None:
    door, _ = _door()
    for n in range(10_000):
        guest = door.enter(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}")
        assert isinstance(guest, Guest)
        door.leave(guest)
    assert len(door._began.by_key) <= 8_192
    assert door._inside == {}
