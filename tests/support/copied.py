"""Copies of a running store, with a delivery in each state."""

import shutil
from dataclasses import replace
from pathlib import Path

from postroom.core.delivery import DeliveryState
from postroom.ports.accepting import Accepted
from postroom.store.sqlite.copying import DatabaseCopy
from postroom.store.sqlite.opening import HostIdentity
from postroom.store.sqlite.outbox import Outbox
from support.store_host import HERE, NOON
from support.store_jobs import new_job, outcome_of, start_of


S = DeliveryState
ELSEWHERE = replace(HERE, host=HostIdentity("machine-2", "boot-7"))


def copy_store(source: Path, target: Path) -> Path:
    """A copy of the running store in `source`, as the next start in `target` finds it."""
    (target / "state").mkdir(parents=True)
    path = target / "state" / "postroom.db"
    copying = DatabaseCopy(source / "state" / "postroom.db", path.with_name("draft"))
    copying.make(0, lambda folder: 1 << 40)
    shutil.copy(path.with_name("draft"), path)
    copying.close()
    return path


async def every_state(outbox: Outbox) -> dict[S, int]:
    """A delivery in each state that there can be while a daemon runs; by state its number."""
    numbers: dict[S, int] = {}
    for state in (S.PENDING, S.RETRY_SCHEDULED, S.SENDING, S.UNCERTAIN, S.SENT, S.FAILED):
        done = await outbox.intake.accept(new_job(outbox.intake, key=f"key-{state}"))
        assert isinstance(done, Accepted)
        numbers[state] = number = done.deliveries[0].number
        if state is S.PENDING:
            continue
        await outbox.loop.start(start_of(number))
        if state is S.RETRY_SCHEDULED:
            await outbox.loop.finish(outcome_of(number, 1, state, due_at=NOON))
        elif state is not S.SENDING:
            await outbox.loop.mark(number, 1, NOON)
        if state in {S.SENT, S.FAILED}:
            await outbox.loop.finish(outcome_of(number, 1, state))
    return numbers
