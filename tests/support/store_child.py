"""A process that writes until it is killed, and says on its standard output what it was told is stored.

`python -m support.store_child DIRECTORY`: accepts jobs, starts, marks and finishes them, several at a time.
"""

import asyncio
import sys
from pathlib import Path

from postroom.core.delivery import DeliveryState
from postroom.ports.accepting import Accepted
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job, outcome_of, start_of


def say(word: str, number: int) -> None:
    sys.stdout.write(f"{word} {number}\n")
    sys.stdout.flush()


async def main(directory: Path) -> None:
    async with outbox_in(directory) as outbox, asyncio.TaskGroup() as group:

        async def work(name: int) -> None:
            for n in range(100_000):
                done = await outbox.intake.accept(new_job(outbox.intake, key=f"{name}-{n}"))
                assert isinstance(done, Accepted)
                number = done.deliveries[0].number
                say("accepted", number)
                started = await outbox.loop.start(start_of(number))
                assert started is not None
                say("started", number)
                await outbox.loop.mark(number, started.claim, NOON)
                say("marked", number)
                await outbox.loop.finish(outcome_of(number, started.claim, DeliveryState.SENT))
                say("sent", number)

        for name in range(8):
            group.create_task(work(name))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
