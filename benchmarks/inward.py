"""The way in against Postfix in one interleaved run: both take mail from the same generator, say 250 when it is on the disk, and deliver none of it.

Postfix runs without its queue manager. Ours can not help reading what came: its parser processes work meanwhile, and the
next round begins when they are through.
"""

import tempfile
import time
from statistics import median

from tests.support.postfix_process import MASTER

from benchmarks.peers import daemon, free_port
from benchmarks.postfix import postfix, smtp_source


LISTENER = """\
[listener]
hostname = "mx.example.com"
listen = ["127.0.0.1:{port}"]
domains = ["example.com"]
postmaster = "bench"
"""
SESSIONS = 10
# Octets, messages in a round, and what is to be reached.
SHAPES = {"2 KiB": (2048, 1_000, "≥ 1.3"), "1 MiB": (1 << 20, 60, "≥ 0.8")}
NO_MANAGER = "".join(
    line for line in MASTER.splitlines(keepends=True) if not line.startswith("qmgr")
)


def inward(rounds):
    """Messages a second from the first connection to the last 250, and our CPU for each."""
    port = free_port()
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        tempfile.TemporaryDirectory(prefix="bench-") as other,
        daemon(folder, free_port(), 1, LISTENER.format(port=port)) as ours,
        postfix(other, free_port(), 1, NO_MANAGER) as theirs,
    ):
        ours.start()
        ways = {"ours": (port, "bench@example.com"), "postfix": (theirs.port, "x@agent.test")}
        for name, (size, count, bound) in SHAPES.items():
            found = {way: [] for way in ways}
            cpu_ms = []
            for number in range(rounds + 1):  # the first one is not counted: connections, caches
                for way, (to, recipient) in ways.items():
                    spent = ours.cpu_s()
                    began = time.monotonic()
                    smtp_source(to, count, SESSIONS, size, recipient)
                    rate = count / (time.monotonic() - began)
                    if way == "ours":
                        cpu_ms += [1000 * (ours.cpu_s() - spent) / count] * bool(number)
                        _wait_read(ours)
                    found[way] += [rate] * bool(number)
            rates = {way: median(each) for way, each in found.items()}
            what = f"inbound {name}, accepted from {SESSIONS} sessions"
            yield f"{what}: Postfix", f"{rates['postfix']:.0f}/s", "report"
            yield f"{what}: ours", f"{rates['ours']:.0f}/s", "report"
            yield f"{what}: ours over Postfix", f"{rates['ours'] / rates['postfix']:.1f}", bound
            yield f"{what}: the daemon's CPU for each", f"{median(cpu_ms):.2f} ms", "report"


def _wait_read(ours):
    """Wait until all that came is an event."""
    log = ours.folder / "log"
    end = time.monotonic() + 600
    while time.monotonic() < end:
        lines = log.read_text()
        if lines.count('"mail.published"') >= lines.count('"mail.received"'):
            return
        time.sleep(0.1)
    message = "mail was not read"
    raise TimeoutError(message)
