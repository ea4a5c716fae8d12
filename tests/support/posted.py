"""A desk that takes every job of the daemon's own and keeps it; or refuses, where it is told to."""

from typing import Any

from postroom.core.fingerprint import key_hash
from postroom.ports.accepting import AcceptResult, KnownKey
from postroom.ports.submitting import Prepared, RefusalCode, RefusalKind, Refused, Repeated


class Posted:
    """Submitter and intake, as far as mail to owners needs them; `refuses` are mailboxes that take none."""

    def __init__(self, refuses: frozenset[str] = frozenset()) -> None:
        self.jobs: list[dict[str, Any]] = []
        self.refuses = refuses
        self.fault: Exception | None = None

    async def submit(
        self,
        value: object,
        principal_uid: int,
        header_key: str | None = None,
        trace_header: str | None = None,
    ) -> Repeated | Refused:
        if self.fault is not None:
            raise self.fault
        assert isinstance(value, dict)
        if value["mailbox_id"] in self.refuses:
            return Refused(RefusalKind.TOO_MUCH, RefusalCode.MAILBOX_QUEUE_FULL, "It is full.")
        names = ("mailbox_id", "idempotency_key")
        if all(any(one[name] != value[name] for name in names) for one in self.jobs):
            self.jobs.append(value)
        return Repeated(1, is_expired=False, duplicates_dropped=0)

    async def find_key(self, mailbox_id: str, hashed: bytes) -> KnownKey | None:
        found = any(
            (one["mailbox_id"], key_hash(one["idempotency_key"])) == (mailbox_id, hashed)
            for one in self.jobs
        )
        known: Any = object() if found else None
        return known

    async def prepare(self, *given: Any) -> Prepared | Repeated | Refused:
        raise AssertionError(given)

    def settle(self, prepared: Prepared, result: AcceptResult) -> Repeated:
        raise AssertionError(prepared)

    def abandon(self, prepared: Prepared) -> None:
        raise AssertionError(prepared)
