"""A row of the account: what was expected, and what was seen."""

from dataclasses import dataclass


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
