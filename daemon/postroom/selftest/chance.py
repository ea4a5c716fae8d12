"""Chance that can be had again: every number comes from a seed and how often it was asked."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar


T = TypeVar("T")

_BYTES: Final = 8


@dataclass
class Chance:
    """One stream of it."""

    seed: str
    asked: int = 0

    def below(self, end: int) -> int:
        """A number from 0 up to, and without, `end`."""
        self.asked += 1
        drawn = hashlib.sha256(f"{self.seed} {self.asked}".encode()).digest()
        return int.from_bytes(drawn[:_BYTES]) % end

    def one_of(self, choices: Sequence[T]) -> T:
        """One of them."""
        return choices[self.below(len(choices))]
