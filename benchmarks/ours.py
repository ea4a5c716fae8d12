"""What we measure of our daemon alone. Each function gives lines of (what, figure, bound)."""

import os
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

from benchmarks.fill import fill
from benchmarks.load import job, submit
from benchmarks.peers import daemon, sink


WARM = 1_000  # messages before a window, so that connections and caches are there
WINDOW = 4_000  # messages in it
IDLE_S = 60
HIGH, STANDARD, BULK = 0, 1, 2


@contextmanager
def stage(connections=50, delay_ms=0):
    """A sink and a daemon that sends to it, not started yet."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        sink(delay_ms) as relay,
        daemon(folder, relay.port, connections) as ours,
    ):
        yield relay, ours


class Window:
    """What a running daemon did between two moments."""

    def __init__(self, ours):
        self.ours = ours
        self.before = self._look()

    def _look(self):
        figures = self.ours.metrics()
        sent = sum(
            n
            for name, n in figures.items()
            if name.startswith("deliveries_total") and '"sent"' in name
        )
        return {
            "sent": sent,
            "at": time.monotonic(),
            "commits": figures["commits_total"],
            "cpu": self.ours.cpu_s(),
        }

    def end(self):
        """Rate, commits and CPU seconds of a message."""
        after = self._look()
        sent = after["sent"] - self.before["sent"]
        moved = {name: after[name] - self.before[name] for name in after}
        return {
            "rate": sent / moved["at"],
            "commits": moved["commits"] / sent,
            "cpu_ms": 1000 * moved["cpu"] / sent,
        }


def drain_window(relay, ours, warm=WARM, window=WINDOW):
    """Start the daemon on its queue and look at it while it drains, then stop it."""
    first = relay.count
    ours.start()
    relay.wait_count(first + warm)
    looked = Window(ours)
    relay.wait_count(first + warm + window)
    figures = looked.end() | {"pss_mb": ours.pss_mb()}
    ours.kill()
    return figures


def drain(rounds):
    """Commits and CPU of a message while a backlog drains with so many in flight, in turn."""
    counts = (50, 100, 10)
    found = {count: [] for count in counts}
    for _ in range(rounds):
        for count in counts:
            with stage(count) as (relay, ours):
                fill(ours, WARM + WINDOW + 2_000)
                found[count].append(drain_window(relay, ours))
    for count, each in found.items():
        bound = "≤ 0.1" if count >= 50 else "report"
        yield f"commits a message, {count} in flight", f"{_mid(each, 'commits'):.3f}", bound
        yield (
            f"daemon's CPU a message, {count} in flight",
            f"{_mid(each, 'cpu_ms'):.2f} ms",
            "report",
        )
        yield f"rate, {count} in flight", f"{_mid(each, 'rate'):.0f}/s", "report"
        yield f"memory (PSS), {count} in flight", f"{_mid(each, 'pss_mb'):.0f} MB", "report"


def flat(rounds, sizes=(1_000, 100_000, 1_000_000)):
    """Rate with long queues over that with a short one: the same count of messages out of each, in turn."""
    found = {size: [] for size in sizes}
    with stage() as (relay, ours):
        kept = {size: ours.folder / f"queue-{size}" for size in sizes}
        for size in sizes:
            took = fill(ours, size if size > WINDOW else WARM + WINDOW + size)
            yield f"filling {size:,}", f"{took:.1f} s", "report"
            ours.state.rename(kept[size])
            ours.state.mkdir(mode=0o700)
        for _ in range(rounds):
            for size in sizes:
                _put(kept[size], ours.state, is_copied=size < WINDOW)
                found[size].append(drain_window(relay, ours))
                if size >= WINDOW:
                    shutil.rmtree(kept[size], ignore_errors=True)
                    ours.state.rename(kept[size])
        shutil.rmtree(ours.state, ignore_errors=True)
        _put(kept[sizes[-1]], ours.state, is_copied=False)
        yield from _lists(ours)
    short = _mid(found[sizes[0]], "rate")
    yield f"rate with {sizes[0]:,} queued", f"{short:.0f}/s", "report"
    for size, bound in zip(sizes[1:], ("≥ 0.95", "≥ 0.9"), strict=False):
        ratio = _mid(found[size], "rate") / short
        cpu = _mid(found[size], "cpu_ms") / _mid(found[sizes[0]], "cpu_ms")
        yield f"rate with {size:,} queued over that", f"{ratio:.2f}", bound
        yield f"CPU a message with {size:,} queued over that", f"{cpu:.2f}", "report"


def _put(kept, state, *, is_copied):
    shutil.rmtree(state, ignore_errors=True)
    if is_copied:
        shutil.copytree(kept, state)
        state.chmod(0o700)
    else:
        kept.rename(state)


def _lists(ours):
    """How long lists take at a million rows; the mailbox is paused, so nothing else runs."""
    ours.start()
    ours.post("/v1/mailboxes/bench/pause", {"reason": "to be measured"})
    took = []
    for path in (
        "/v1/jobs?limit=100",
        "/v1/jobs?mailbox_id=bench&limit=100",
        "/v1/deliveries?state=pending&limit=100",
    ):
        cursor = ""
        for _ in range(100):
            began = time.monotonic()
            page = ours.json(path + cursor)
            took.append(time.monotonic() - began)
            cursor = f"&cursor={page['next_cursor']}"
    took.sort()
    ours.stop()
    yield "list of 100 at a million rows, p50", f"{1000 * median(took):.1f} ms", "report"
    yield (
        "list of 100 at a million rows, p99",
        f"{1000 * took[len(took) * 99 // 100]:.1f} ms",
        "< 20 ms",
    )


def idle(_rounds):
    """What a daemon costs that has nothing to do, a minute after it was busy."""
    with stage() as (relay, ours):
        ours.start()
        submit(ours.socket, 200, 10)
        relay.wait_count(200)
        time.sleep(
            75
        )  # connections are closed after 30 s; a minute after its start it looks for what is old
        switches, run_s = ours.switches(), ours.run_s()
        time.sleep(IDLE_S)
        spent, moved = ours.run_s() - run_s, ours.switches() - switches
        yield "CPU when idle", f"{100 * spent / IDLE_S:.3f} %", "< 0.2 %"
        yield "context switches a minute when idle", f"{moved * 60 / IDLE_S:.0f}", "≤ 10"


def start(rounds):
    """From the request of a job to its RCPT at the relay, on a daemon that was idle."""
    with stage() as (relay, ours):
        ours.start()
        took = []
        for number in range(30 * rounds):
            took.append(_start_s(relay, ours, f"i{number}"))
            time.sleep(0.05)
        fsync_ms = 1000 * median(_fsync_s(ours.state) for _ in range(50))
        took.sort()
        bound = f"< 10 ms and two fsyncs of {fsync_ms:.1f} ms"
        yield "start of new work, p50", f"{1000 * median(took):.1f} ms", bound
        yield "the same, p99", f"{1000 * took[len(took) * 99 // 100]:.1f} ms", "report"


def high(_rounds):
    """From the request of a `high` job to its RCPT at the relay while 50,000 `bulk` ones drain."""
    with stage() as (relay, ours):
        fill(ours, 50_000, BULK)
        ours.start()
        relay.wait_count(500)
        took = sorted(_start_s(relay, ours, f"h{number}", "high") for number in range(200))
        left = 50_000 - relay.count
        ours.kill()
        yield (
            f"start of a high job behind bulk ({left:,} left at the end), p50",
            f"{1000 * median(took):.0f} ms",
            "report",
        )
        yield "the same, p99", f"{1000 * took[len(took) * 99 // 100]:.0f} ms", "< 1 s"


def accept(rounds):
    """Acceptance alone: the mailbox is paused."""
    shapes = ((1, 1), (16, 1), (64, 1), (1, 100), (4, 100))
    found = {shape: [] for shape in shapes}
    with stage() as (_, ours):
        ours.start()
        ours.post("/v1/mailboxes/bench/pause", {"reason": "to be measured"})
        for _ in range(rounds):
            for connections, per_request in shapes:
                count = 5_000 if per_request > 1 else 500 + 40 * connections
                found[connections, per_request].append(
                    submit(ours.socket, count, connections, per_request)
                )
    for (connections, per_request), loads in found.items():
        rate, p50 = (median(getattr(one, name) for one in loads) for name in ("rate", "p50_s"))
        what = f"accept, {connections} connection(s), {per_request} job(s) a request"
        yield what, f"{rate:.0f} jobs/s, p50 {1000 * p50:.1f} ms", "report"


def recovery(rounds):
    """The start after a crash with 100,000 deliveries under way, as many of them marked as there may be."""
    took, started = [], []
    with stage() as (_, ours):
        fill(ours, 100_000, is_under_way=True)
        kept = ours.folder / "kept"
        ours.state.rename(kept)
        for _ in range(rounds):
            _put(kept, ours.state, is_copied=True)
            started.append(ours.start())
            ours.kill()
            took.append(ours.log_at("daemon.recovered") - ours.log_at("daemon.started"))
        line = ours.log_line("daemon.recovered")
    found = f"{line['to_pending']:,} wait again, {line['to_uncertain']:,} in doubt"
    yield f"recovery of 100,000 under way ({found})", f"{median(took):.2f} s", "< 2 s"
    yield (
        "the same, from the process's start to its first answer",
        f"{median(started):.2f} s",
        "report",
    )


def _start_s(relay, ours, name, priority="standard"):
    began = time.monotonic()
    ours.post("/v1/jobs", job(name, priority, f"t-{name}@agent.test"))
    return relay.seen(name) - began


def _fsync_s(folder):
    path = Path(folder) / "fsync"
    with path.open("ab", 0) as file:
        file.write(b"x" * 4096)
        began = time.monotonic()
        os.fdatasync(file.fileno())
        took = time.monotonic() - began
    with suppress(OSError):
        path.unlink()
    return took


def _mid(figures, name):
    return median(one[name] for one in figures)
