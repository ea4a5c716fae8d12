"""Preconditions as they stand (CONTRACT §3 `if`): what a job asked for, and what its thread says to it. Pure."""

from dataclasses import dataclass

from postroom.core.ids import Kind, encode_id
from postroom.core.instant import Instant
from postroom.core.job import Condition


@dataclass(frozen=True, slots=True)
class Standing:
    """A condition and the facts it asks for.

    `latest_inbound` is a person's mail that came after the event it names; `pending_since`: stored mail names the
    thread by a valid token and waits to be read since then.
    """

    condition: Condition
    version: int
    latest_inbound: int | None
    pending_since: Instant | None

    @property
    def is_true(self) -> bool:
        """Whether it holds, as far as all mail is read."""
        is_version = self.condition.thread_version in {None, self.version}
        return is_version and self.latest_inbound is None

    @property
    def found(self) -> str:
        """What there is, for people."""
        if self.is_true and self.pending_since is not None:
            return "inbound_pending"
        if self.latest_inbound is not None:
            return f"{encode_id(Kind.EVENT, self.latest_inbound)} came in"
        return f"thread version {self.version}"

    @property
    def wanted(self) -> str:
        """What must be, for people."""
        version, since = self.condition.thread_version, self.condition.no_inbound_since
        asked = [] if version is None else [f"thread version {version}"]
        if since is not None:
            asked.append(f"no mail after {encode_id(Kind.EVENT, since)}")
        return ", ".join(asked)
