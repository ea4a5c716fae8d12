"""A submitter with its surroundings in memory, and jobs that are handed to it one by one or all at once."""

import asyncio
from dataclasses import dataclass, field, replace

from postroom.core.mailbox import Mailbox
from postroom.outbound.submit import JobSubmitter, SubmitParts
from postroom.ports.submitting import Refused, SubmitResult, Submitted
from support.clock import CountedEntropy, HandClock
from support.mail import NOW, SUPPORT, spec
from support.submit_host import MemoryIntake, MemorySpool


ROOTED = replace(SUPPORT, attachment_roots=("/srv",))
MERGE: dict[str, object] = {"idempotency_key": "k", "on_duplicate": "merge"}


@dataclass
class Desk:
    """A submitter with its surroundings."""

    mailbox: Mailbox = ROOTED
    intake: MemoryIntake = field(default_factory=MemoryIntake)
    spool: MemorySpool = field(default_factory=MemorySpool)
    clock: HandClock = field(default_factory=lambda: HandClock(NOW))
    waiting: int = 0

    def __post_init__(self) -> None:
        self.mailboxes = {"support": self.mailbox}
        parts = SubmitParts(
            self.intake,
            self.spool,
            self.mailboxes,
            self.clock,
            CountedEntropy(),
            lambda _: self.waiting,
            self.intake.find_job,
        )
        self.submitter = JobSubmitter(parts)

    async def post(self, **changes: object) -> SubmitResult:
        return await self.submitter.submit(spec(**changes), 1000)

    def set(self, **settings: object) -> None:
        self.mailboxes["support"] = replace(self.mailboxes["support"], **settings)  # type: ignore[arg-type]


def taken(result: SubmitResult) -> Submitted:
    assert isinstance(result, Submitted), result
    return result


def refused(result: SubmitResult) -> Refused:
    assert isinstance(result, Refused), result
    return result


def hold(desk: Desk) -> asyncio.Event:
    """Nothing is stored until this is set."""
    gate = asyncio.Event()

    async def wait() -> None:
        await gate.wait()

    desk.intake.before_accept = wait
    return gate


async def post_at_once(desk: Desk, jobs: list[dict[str, object]]) -> list[SubmitResult]:
    """All are on their way before the first is stored."""
    gate = hold(desk)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(desk.post(**one)) for one in jobs]
        group.create_task(asyncio.to_thread(bool)).add_done_callback(lambda _: gate.set())
    return [task.result() for task in tasks]
