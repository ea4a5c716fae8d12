"""What the daemon holds in memory at its worst: a million under way at a crash, a relay that hangs, and slow clients.

The figures are the kernel's: the most that was resident since the last look (`VmHWM`), so no moment is missed.
"""

import re
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from benchmarks.fill import fill
from benchmarks.inward import LISTENER
from benchmarks.peers import daemon, free_port, sink
from benchmarks.slow import slow_clients


QUEUED = 1_000_000
CONNECTIONS = 200
SLOW = 100
HOLD_S = 90  # all have dialled, and the relay hangs for longer than the storm guard looks on
BOUND = "≤ 200 MiB"
# What a crash leaves at most: as many started as there are slots, as many marked as there may be open outcomes.
CRASHED = f"""
    UPDATE delivery SET state = 'sending', claim = 1, date_at = due_at, series_started_at = due_at,
                        marked_at = CASE WHEN number > 2 * {CONNECTIONS} THEN due_at END
    WHERE number BETWEEN 2 AND 1000 + 2 * {CONNECTIONS}"""
COPIED = "UPDATE instance SET is_backup = 1"
LISTS = ("/v1/jobs?limit=100", "/v1/deliveries?state=pending&limit=100", "/v1/metrics", "/v1/stats")


def memory(_rounds):
    """The most that was resident in each part of a run."""
    port = free_port()
    more = LISTENER.format(port=port)
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        sink(0, "mute") as relay,
        daemon(folder, relay.port, CONNECTIONS, more) as ours,
    ):
        ours.start()
        yield "memory, most resident: an empty daemon at its start", _told(_peak(ours)), "report"
        ours.stop()
        fill(ours, QUEUED)
        _change(ours, CRASHED)
        took = ours.start(within_s=600)
        found = ours.log_line("daemon.recovered")
        under_way = f"{found['to_pending']:,} and {found['to_uncertain']:,} marked under way"
        what = f"start with {QUEUED:,} queued, {under_way}, {took:.0f} s"
        yield f"the same: {what}", _told(_peak(ours)), BOUND
        with slow_clients(ours.socket, port, SLOW) as are_there:
            time.sleep(HOLD_S)
            what = f"{relay.open_now} connections to a relay that hangs, {are_there()} slow clients"
            yield f"the same: {what}", _told(_peak(ours)), BOUND
            _ask_for_all(ours)
            yield "the same: lists, metrics, explain meanwhile", _told(_peak(ours)), BOUND
            yield "resident then", _told(_now(ours)), BOUND
        ours.kill()
        _change(ours, COPIED)
        took = ours.start(within_s=600)
        what = f"start that holds all of a restored copy, {took:.0f} s"
        yield f"the same: {what}", _told(_peak(ours)), BOUND
        ours.kill()


def _change(ours, statement):
    with closing(sqlite3.connect(ours.state / "postroom.db", isolation_level=None)) as conn:
        conn.execute(statement)


def _ask_for_all(ours):
    for _ in range(20):
        for path in LISTS:
            ours.get(path)
        for one in ours.json("/v1/deliveries?limit=10")["items"]:
            ours.get(f"/v1/deliveries/{one['id']}/explain")


def _peak(ours):
    """MiB; the kernel's mark begins anew."""
    found = _status(ours.process.pid, "VmHWM")
    Path(f"/proc/{ours.process.pid}/clear_refs").write_text("5")
    return found


def _now(ours):
    return _status(ours.process.pid, "VmRSS")


def _status(pid, name):
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)[1]) / 1024


def _told(mib):
    return f"{mib:.0f} MiB"
