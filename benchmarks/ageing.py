"""What retention costs: how long each of its bites takes, and what acceptance feels of it."""

import asyncio
import shutil
import tempfile
import time

from benchmarks.fill import fill
from benchmarks.load import submit
from benchmarks.peers import daemon, sink
from postroom.core.instant import Instant
from postroom.core.retention import Retention
from postroom.ops.host import SystemClock, SystemEntropy
from postroom.store.sqlite import retention
from postroom.store.sqlite.outbox import open_outbox


OLD = 100_000
WINDOW = 400  # jobs handed over at a time
DAYS_31 = 31 * 86_400_000_000
AT_FIRST_S = 60  # the daemon looks for what is old so long after its start
SHORT = "[retention]\nsent_s = 60\n"


def ageing(_rounds):
    """A hundred thousand sent jobs that are old: taken from a store that does nothing else, and beside acceptance."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        sink() as relay,
        daemon(folder, relay.port, more=SHORT) as ours,
    ):
        fill(ours, OLD, is_sent=True)
        kept = ours.folder / "kept"
        ours.state.rename(kept)
        alone = shutil.copytree(kept, ours.folder / "alone")
        yield from _bites(alone)
        yield from _beside_acceptance(ours, kept)


def _beside_acceptance(ours, kept):
    """The first minute of a daemon has no retention, then it takes all that is old: the same load in both."""
    kept.rename(ours.state)
    ours.start()
    began = time.monotonic()
    ours.post("/v1/mailboxes/bench/pause", {"reason": "to be measured"})
    submit(ours.socket, 2_000, 4)
    without = _load_until(ours, lambda: time.monotonic() - began > AT_FIRST_S - 5)
    while time.monotonic() - began < AT_FIRST_S:
        time.sleep(0.01)
    beside = _load_until(ours, lambda: "retention.removed" in (ours.folder / "log").read_text())
    took = time.monotonic() - began - AT_FIRST_S
    ours.stop()
    p99s = [one[len(one) * 99 // 100] for one in (without, beside)]
    yield f"retention of {OLD:,} jobs beside acceptance", f"{took:.1f} s", "report"
    yield "accept without it, p99", f"{1000 * p99s[0]:.1f} ms", "report"
    yield "accept beside it, p99, over that", f"{p99s[1] / p99s[0]:.2f}", "≤ 1.5"


def _load_until(ours, is_over):
    took = []
    while not is_over():
        took += submit(ours.socket, WINDOW, 4).took_s
    return sorted(took)


def _bites(kept):
    """Every unit of retention on its own, a month later."""
    took = asyncio.run(_take(kept))
    yield "a bite of retention, p50", f"{1000 * took[len(took) // 2]:.1f} ms", "report"
    yield "the same, p99", f"{1000 * took[len(took) * 99 // 100]:.1f} ms", "≤ 10 ms"
    yield "the same, longest", f"{1000 * took[-1]:.1f} ms", "report"


async def _take(state):
    took = []
    clock = SystemClock()
    opened = open_outbox(state, clock, SystemEntropy(), lambda _: True)

    async def unlink(_):
        return True

    async with opened as outbox:

        class Timed(retention.SqliteRetention):
            async def _write(self, unit, weight):
                began = time.monotonic()
                done = await super()._write(unit, weight)
                took.append(time.monotonic() - began)
                return done

        await Timed(outbox.database, Retention(), unlink, lambda: True).run(
            Instant(clock.now() + DAYS_31)
        )
    return sorted(took)
