"""What the host gives: time and chance."""

from collections.abc import Awaitable
from typing import Protocol

from postroom.core.instant import Instant


class Clock(Protocol):
    """Wall time for what is stored, monotonic time for what is measured; both in microseconds."""

    def now(self) -> Instant:
        """The wall clock."""
        ...

    def monotonic(self) -> int:
        """Microseconds since an arbitrary moment; never goes back."""
        ...

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Wait. A fake clock returns when its time has been moved on."""
        ...


class Entropy(Protocol):
    """Chance."""

    def token(self, bits: int) -> int:
        """An unguessable number below 2**bits."""
        ...

    def fraction(self) -> float:
        """A number in [0, 1), for jitter."""
        ...


class Trust(Protocol):
    """Whether the wall clock is believed."""

    def is_doubted(self) -> bool:
        """Whether what can not be undone has to wait."""
        ...

    def confirm(self) -> None:
        """A person says that it is right."""
        ...
