"""Any story of jobs, people, relays and disks that misbehave, and restarts ends well: each mail once, or told why not."""

import asyncio
import sqlite3
import tempfile
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as bounds
from hypothesis import strategies as st

from postroom.core.delivery import UNSETTLED, DeliveryState
from postroom.core.instant import SECOND, Instant, format_instant
from postroom.outbound.pool import Pool
from postroom.outbound.timeouts import Timeouts
from postroom.ports.desk import Actor, DeliveryFilter
from postroom.service import joined
from postroom.store.sqlite import loop_finish, loop_start
from support.clock import FakeClock, breathe, settle
from support.post import UID, Post, open_post, setting, settings
from support.relay import ScriptedRelay
from support.relay_script import Delay, Drop, Raw, Reply
from support.store_host import Faults, sqlite_error


ME = Actor(UID)
MAILBOX = """\
retry = { jitter = 0 }
concurrency = 3
pace = { per_second = 5, burst = 5, per_day = 2000 }
domain_pace = { "d1.example" = { per_second = 0.5, concurrency = 1 } }
"""
SAID = [
    "421 4.3.2 closing",
    "421 4.7.0 [TSS04] unexpected volume",
    "450 4.7.1 greylisted, try again in 120 s",
    "451 4.3.0 later",
    "452 4.3.1 no storage",
    "454 throttling failure: maximum sending rate exceeded",
    "550 5.1.1 no such user",
    "550 5.4.5 daily limit",
    "552 5.2.2 mailbox full",
    "554 5.7.1 relay access denied",
]
SILENCE = Delay(60)
STAGES = ["connect", "ehlo", "mail", "rcpt", "data", "dot"]
ACTIONS = st.one_of(
    st.sampled_from(SAID).map(Reply),
    st.sampled_from([Drop(), Drop(is_reset=True), Raw(b"25O what\r\n"), SILENCE]),
)
STEPS = st.one_of(
    st.tuples(
        st.just("submit"),
        st.sampled_from(["high", "standard", "bulk"]),
        st.integers(1, 4),
        st.sampled_from([0, 0, 0, 90, 4000]),
    ),
    st.tuples(st.just("relay"), st.sampled_from(STAGES), ACTIONS, st.integers(1, 6)),
    st.tuples(st.just("pass"), st.sampled_from([0, 0, 1, 30, 400, 7200])),
    st.tuples(st.just("pause")),
    st.tuples(st.just("resume")),
    st.tuples(st.just("cancel"), st.integers(0, 9)),
    st.tuples(st.just("move"), st.integers(0, 9), st.sampled_from([0, 50, 5000])),
    st.tuples(st.just("redrive")),
    st.tuples(st.just("restart")),
    st.tuples(st.just("disk"), st.sampled_from(["start", "mark", "finish"]), st.integers(1, 4)),
)


@dataclass
class Disk:
    """Fails a number of times at a statement."""

    left: dict[str, int] = field(default_factory=dict)

    def judge(self, conn: sqlite3.Connection, sql: str) -> None:
        if self.left.get(sql, 0) > 0:
            self.left[sql] -= 1
            raise sqlite_error(sqlite3.SQLITE_BUSY, "database is locked")


QUICK = timedelta(seconds=0.15)
EXAMPLES = 12
POINTS = {"start": loop_start._START, "mark": loop_start._MARK, "finish": loop_finish._FINISH}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Relays have a moment for each reply, in real time."""
    timeouts = Timeouts(
        dial=QUICK * 3,
        greeting=QUICK,
        command=QUICK,
        data=QUICK,
        final=QUICK,
        slow=QUICK / 2,
        aftermath=QUICK,
        leave=QUICK,
    )
    monkeypatch.setattr(joined, "Pool", lambda relay, name, _: Pool(relay, name, timeouts))


@dataclass
class Story:
    """What has happened so far."""

    relay: ScriptedRelay
    post: Post
    disk: Disk
    jobs: list[int] = field(default_factory=list)
    recipients: int = 0
    may_resend: bool = False

    async def submit(self, lane: str, count: int, delay_s: int) -> None:
        first = self.recipients
        self.recipients += count
        to = [f"r{n}@d{n % 3}.example" for n in range(first, first + count)]
        send_at = format_instant(Instant(self.post.clock.now() + delay_s * SECOND))
        self.jobs.append(
            await self.post.submit(to=to, priority=lane, send_at=send_at, copies="individual")
        )

    async def pass_(self, seconds: float) -> None:
        for _ in range(4):
            await self.breathe()
            self.post.clock.advance(seconds / 4)
        await self.breathe()

    async def breathe(self) -> None:
        for _ in range(3):
            await settle(20)
            await breathe()

    async def do(self, step: tuple[Any, ...]) -> None:
        admin, now = self.post.outbox.admin, self.post.clock.now()
        match step:
            case ("pause",):
                await admin.pause("support", "a story", ME, now)
            case ("resume",):
                await admin.resume("support", ME, now)
            case "cancel", n if self.jobs:
                await admin.cancel_job(self.jobs[n % len(self.jobs)], ME, now)
            case "move", n, delay_s if self.jobs:
                at = Instant(now + delay_s * SECOND)
                await admin.reschedule_job(self.jobs[n % len(self.jobs)], at, ME, now)
            case ("redrive",):
                failed = DeliveryFilter(mailbox_id="support", state=DeliveryState.FAILED)
                await admin.retry_deliveries(failed, ME, now, dry_run=False, limit=100)
            case _:
                await self.happen(step)

    async def happen(self, step: tuple[Any, ...]) -> None:
        match step:
            case "submit", lane, count, delay_s:
                await self.submit(lane, count, delay_s)
            case "relay", stage, action, times:
                self.relay.on(stage, action, times=times)
            case "pass", seconds:
                await self.pass_(seconds)
            case "disk", point, times:
                self.disk.left[POINTS[point]] = times
            case _:
                pass

    async def end(self) -> None:
        """All is well again: everything that waits must come to its end."""
        self.relay.clear()
        self.disk.left.clear()
        await self.post.outbox.admin.resume("support", ME, self.post.clock.now())
        for _ in range(60):
            await self.pass_(3600)
            if not await self.unsettled():
                break
        assert await self.unsettled() == {}
        for job in self.jobs:
            for who, one in (await self.post.deliveries(job)).items():
                told = who, str(one.state), str(one.reason_code), self.relay.copies(who)
                match one.state:
                    case DeliveryState.SENT if one.settled_by == "policy":
                        assert self.relay.copies(who) <= 1, told
                    case DeliveryState.SENT:
                        assert 1 <= self.relay.copies(who) <= 1 + one.resends, told
                    case DeliveryState.UNCERTAIN:
                        assert self.relay.copies(who) <= 1 + one.resends, told
                    case _:
                        assert self.relay.copies(who) == 0, told
                assert one.resends <= self.may_resend, told
        assert self.post.joined.way.under_way == 0

    async def unsettled(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for job in self.jobs:
            found |= await self.post.states(job)
        return {who: state for who, state in found.items() if DeliveryState(state) in UNSETTLED}


async def tell(folder: Path, policy: str, steps: list[tuple[Any, ...]]) -> None:
    clock, disk = FakeClock(), Disk()
    store = setting(factory=Faults(before=disk.judge).factory())
    async with ScriptedRelay() as relay:
        mailbox = f'{MAILBOX}\non_uncertain = "{policy}"'
        said = settings(folder, relay.port, mailbox=mailbox)
        jobs: list[int] = []
        recipients = 0
        rest = [*steps]
        while True:
            async with open_post(said, clock=clock, store=store) as post:
                story = Story(relay, post, disk, jobs, recipients, policy == "resend")
                while rest and rest[0] != ("restart",):
                    await story.do(rest.pop(0))
                    await story.breathe()
                if not rest:
                    await story.end()
                    return
                recipients = story.recipients
                disk.left.clear()
                rest.pop(0)


@pytest.mark.usefixtures("impatient")
@bounds(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.generate],  # a story is not made simpler by the minute
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.sampled_from(["hold", "resend", "assume_sent"]), st.lists(STEPS, min_size=5, max_size=25))
def test_every_story_ends_with_each_mail_sent_once_or_accounted_for(
    policy: str,
    steps: list[tuple[Any, ...]],
) -> None:
    with tempfile.TemporaryDirectory(prefix="postroom-test-") as name:
        asyncio.run(tell(Path(name), policy, steps))
