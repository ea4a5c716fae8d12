"""A row of the account: what was expected, and what was seen."""

from dataclasses import dataclass
from typing import Protocol

from postroom.selftest.house import Ground


@dataclass(frozen=True, slots=True)
class Row:
    """One promise, tried once. `cells` are the cells of the matrix that it stands for; `folder` is what it leaves."""

    name: str
    expected: str
    seen: str
    cells: tuple[str, ...] = ()
    folder: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether it was as expected."""
        return self.expected == self.seen


class Trial(Protocol):
    """Something to be tried in a house of its own."""

    @property
    def name(self) -> str:
        """As people read it."""
        ...

    def run(self, ground: Ground) -> Row:
        """Try it."""
        ...
