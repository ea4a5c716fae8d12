"""A client's host whose time moves only when somebody sleeps."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from postroom.client.host import Host


@dataclass
class FakeHost(Host):
    """`on_sleep` is called with each wait, before it is over."""

    at_s: float = 0.0
    slept: list[float] = field(default_factory=list)
    on_sleep: Callable[[float], None] = lambda seconds: None
    keys: int = 0

    def now(self) -> datetime:
        return datetime(2026, 11, 30, 7, tzinfo=UTC) + timedelta(seconds=self.at_s)

    def monotonic_s(self) -> float:
        return self.at_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at_s += seconds
        self.on_sleep(seconds)

    def mint_key(self) -> str:
        self.keys += 1
        return f"minted-{self.keys}"
