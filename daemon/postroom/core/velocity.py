"""When writing to and fro is a loop (HAZARDS S8, CASES C08 and C14): what is counted, how much is too much. Pure.

A machine that answers us is counted in its thread and over the threads of a mailbox: by its address, and by its domain
where it writes from addresses that we never wrote to. Whoever looks like a person is counted only by turns: an answer to
something that we sent. See docs/decisions/0017.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from postroom.core.instant import Instant, micros


class HoldScope(StrEnum):
    """What a loop holds: everything in a thread, everything to an address, everything to a domain."""

    THREAD = "thread"
    ADDRESS = "address"
    DOMAIN = "domain"


class Evidence(StrEnum):
    """How a loop was found by counting; the word stands in the event."""

    THREAD = "velocity_thread"
    ADDRESS = "velocity_address"
    DOMAIN = "velocity_domain"
    TURNS = "velocity_turns"


@dataclass(frozen=True, slots=True)
class Bound:
    """More than `most` within this time is too much."""

    most: int
    within: timedelta


DAY: Final = timedelta(days=1)  # nothing older is looked at

# What a machine may write: the numbers of HAZARDS S8.
MACHINE: Final = (Bound(5, timedelta(minutes=10)), Bound(20, DAY))
# Turns in a row, each within PROMPT of what we sent. A person has to be told of a mail, read it and write: once or twice
# so fast, not eleven times without a slower one between.
PROMPT: Final = timedelta(seconds=30)
PROMPT_TURNS: Final = (Bound(10, timedelta(hours=1)),)
# Turns at any speed: nobody writes a hundred mails a day to one mailbox, each after its answer.
TURNS: Final = (Bound(100, DAY),)
# What looks like the person that was taken for a machine frees nothing before: a machine has then long stopped, since
# nothing goes to it any more.
QUIET: Final = timedelta(minutes=10)


def is_too_much(bounds: Sequence[Bound], times: Sequence[Instant], now: Instant) -> bool:
    """Whether one of the bounds is exceeded by what happened at these times."""
    latest = sorted(times, reverse=True)
    return any(
        len(latest) > bound.most and latest[bound.most] > now - micros(bound.within)
        for bound in bounds
    )


def most_of(bounds: Sequence[Bound]) -> int:
    """How many times there must be at least for that; no more need to be remembered."""
    return max(bound.most for bound in bounds) + 1


def is_answering(strangers: int, ours: int) -> bool:
    """Whether what strangers of a domain sent by machine can be answers to as many of ours.

    In a loop each of ours is answered, by two mails at most. Of a mailing to thousands, a few are answered from other
    addresses; and one person must not be able to hold what goes to a large provider by mail that answers nothing.
    """
    return ours <= 2 * strangers <= 4 * ours
