"""What the settings hold, for whoever keeps a mapping of it: replaced whole, in one step."""

from collections.abc import Iterator, Mapping
from typing import TypeVar


V = TypeVar("V")


class Live(Mapping[str, V]):
    """A mapping that others read and its owner replaces. Who goes through it goes on through what it was."""

    def __init__(self, values: Mapping[str, V]) -> None:
        self._values = values

    def become(self, values: Mapping[str, V]) -> None:
        """From now on it holds these."""
        self._values = values

    def __getitem__(self, name: str) -> V:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
