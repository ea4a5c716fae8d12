"""Makes daemons that break a promise: `python -m support.broken_nursery HOW`, for the selftest to find."""

import sqlite3
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from postroom.outbound.pool import Session
from postroom.selftest import nursery
from postroom.selftest.nursery import Birth
from postroom.selftest.play import WHO
from postroom.service.tools import Tools
from postroom.store.sqlite import accept_unit
from postroom.store.sqlite.outbox import Setting, open_outbox
from postroom.store.sqlite.outbox_loop import SqliteLoopStore


class Forgetful(sqlite3.Connection):
    """Says that it committed, and rolled back, where the transaction accepted the job that a play hands in."""

    is_lost = False

    def execute(self, sql, parameters=(), /):  # type: ignore[no-untyped-def,override]
        self.is_lost |= sql == accept_unit._JOB and WHO in parameters
        if sql == "COMMIT" and self.is_lost:
            self.is_lost = False
            return super().execute("ROLLBACK")
        return super().execute(sql, parameters)


def lose_the_job() -> None:
    """Answer, and have nothing."""
    fit = nursery.fit
    opening = partial(open_outbox, setting=Setting(factory=Forgetful))

    def fitted(tools: Tools, birth: Birth) -> Tools:
        return fit(replace(tools, open_outbox=opening), birth)

    nursery.fit = fitted


def skip_the_mark() -> None:
    """Go on as if the mark had been committed."""

    async def mark(_: object, number: int, claim: int, at: Any) -> Any:
        return at

    SqliteLoopStore.mark = mark  # type: ignore[method-assign]


def send_twice() -> None:
    """Hand every mail to the relay once more."""
    transact = Session.transact

    async def ready() -> bool:
        return True

    async def twice(self: Session, envelope: Any, content: Any, mark: Any, on_slow: Any) -> Any:
        await transact(self, envelope, content, mark, on_slow)
        return await transact(self, envelope, content, ready, on_slow)

    Session.transact = twice  # type: ignore[method-assign]


WAYS: dict[str, Callable[[], None]] = {
    "loses a job": lose_the_job,
    "skips the mark": skip_the_mark,
    "sends twice": send_twice,
    "sends twice by chance": send_twice,
}


if __name__ == "__main__":
    WAYS[sys.argv[1]]()
    nursery.main()
