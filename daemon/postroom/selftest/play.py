"""What makes the daemon pass one commit point, and what has to be found after it died on either side of it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from postroom.selftest.door import Handed
from postroom.selftest.house import House
from postroom.selftest.nursery import Birth


_PLAINLY_BORN: Final = Birth("", "")
WHO: Final = "b@peer.example"
SUPPORT: Final = "plain@example.com"


class Moment(StrEnum):
    """When the commit point becomes deadly."""

    AT_THE_ACT = "at the act"
    AT_BIRTH = "at birth"
    AT_A_RESTART = "at a restart"


def nothing(_house: House) -> None:
    """No step."""


@dataclass(frozen=True, slots=True)
class Play:
    """One commit point.

    `act` leads to it; where it is passed by a restart, that is done while no daemon lives. `ancestry` is what happened
    before, `prepare` comes when a dialogue is held at every stage. `look` says in a few words what became of it; it is asked again and again until it says `before` or `after`, those
    being what is expected after a death on that side.
    """

    point: str
    before: str
    after: str
    act: Callable[[House], object]
    look: Callable[[House], str]
    prepare: Callable[[House], object] = nothing
    moment: Moment = Moment.AT_THE_ACT
    birth: Birth = _PLAINLY_BORN
    ancestry: Callable[[House], object] = nothing


def hand_in(house: House) -> None:
    """A job for one recipient."""
    house.hand_in(WHO)


def fate(house: House) -> str:
    """State, and copies at the relay."""
    return house.tell(WHO)


def reply_address(copy: Handed) -> str:
    """Where a copy's answers go: an address that is signed."""
    return str(copy.message["Reply-To"]).partition("<")[2].rstrip(">")


def later(house: House) -> str:
    """An hour from now."""
    stamp = house.ground.host.now().timestamp() + 3600
    return _stamp(stamp)


def soon(house: House) -> str:
    """In a moment."""
    return _stamp(house.ground.host.now().timestamp() + 0.3)


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
