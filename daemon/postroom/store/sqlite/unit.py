"""Units of work: what the writer is asked to do, each run whole or not at all.

A unit is a function of the writing connection. It must be pure of its input: run a second time on a store where its
first run was rolled back, it must do the same (the writer does that when another unit broke their transaction). It
never begins, commits or rolls back, changes nothing in memory, and tells what it changed as `changes`.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, TypeVar

from postroom.ports.changes import Change


T = TypeVar("T")


class WriteLane(IntEnum):
    """In which order the writer takes what waits. Outcomes and control share the first queue, in their own order.

    `SPARE` is for what nobody waits for: it goes alone, and beside others it takes a quarter of the time at most.
    """

    OUTCOME = 0
    CONTROL = 1
    START = 2
    REST = 3
    SPARE = 4


@dataclass(frozen=True, slots=True)
class UnitResult(Generic[T]):
    """The answer for the caller, and what changed in the store, told to the observer after the commit."""

    value: T
    changes: tuple[Change, ...] = ()


Unit = Callable[[sqlite3.Connection], UnitResult[T]]
