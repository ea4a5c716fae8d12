"""End to end against Postfix in one interleaved run: both take 2 KiB messages, keep them, and hand them to the same sink."""

import tempfile
import time
from statistics import median

from benchmarks.load import submit
from benchmarks.peers import daemon, sink
from benchmarks.postfix import postfix


COUNT = 2_000
OURS, THEIRS = 50, 20  # connections to the sink: of those tried, the best for each


def versus(rounds, count=COUNT):
    """Messages a second from the first request to the last message at the sink, ours and Postfix's in turn."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        tempfile.TemporaryDirectory(prefix="bench-") as other,
        sink() as relay,
        daemon(folder, relay.port, OURS) as ours,
        postfix(other, relay.port, THEIRS) as theirs,
    ):
        ours.start()
        ways = {
            "ours": lambda submitters: submit(ours.socket, count, submitters),
            "postfix": lambda submitters: theirs.submit(count, submitters),
        }
        for hand_over in ways.values():  # not counted: connections, caches
            _timed(relay, hand_over, count, 10)
        for submitters, bound in ((10, "≥ 4"), (50, "≥ 5")):
            found = {name: [] for name in ways}
            for _ in range(rounds):
                for name, hand_over in ways.items():
                    found[name].append(_timed(relay, hand_over, count, submitters))
            rates = {name: median(each) for name, each in found.items()}
            what = f"end to end, {submitters} submitters"
            yield f"{what}: Postfix", f"{rates['postfix']:.0f}/s", "report"
            yield f"{what}: ours", f"{rates['ours']:.0f}/s", "report"
            yield f"{what}: ours over Postfix", f"{rates['ours'] / rates['postfix']:.1f}", bound


def _timed(relay, hand_over, count, submitters):
    first = relay.count
    began = time.monotonic()
    hand_over(submitters)
    relay.wait_count(first + count)
    return count / (time.monotonic() - began)
