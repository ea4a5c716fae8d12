"""What the daemon says of itself."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.reply import SmtpReply, Stage
from postroom.ops.chronicle import Chronicle
from postroom.ops.librarylog import lead_library_logs
from postroom.ops.logbook import Logbook
from postroom.ops.logwords import LogFormat, LogLevel
from postroom.ops.throttle import Throttle
from postroom.ports.changes import EventsDied, LeaseExpired, ThreadFreed, ThreadHeld
from postroom.ports.errors import (
    AlreadyRunning,
    RelayFault,
    StateRefused,
    StoreBroken,
    StoreUnavailable,
)
from postroom.ports.looping import Recovered
from support.ops_clock import LateClock


class Log:
    """A chronicle that writes into memory."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.clock = LateClock()
        book = Logbook(self.stream, self.clock, LogLevel.DEBUG, LogFormat.JSON, {})
        self.chronicle = Chronicle(book, Throttle(self.clock))

    def lines(self) -> list[dict[str, object]]:
        lines = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        return [{name: line[name] for name in line if name != "at"} for line in lines]


def _raised(error: Exception) -> Exception:
    try:
        raise error
    except type(error):
        return error


SAID: dict[str, tuple[Callable[[Chronicle], None], dict[str, object]]] = {
    "start": (
        lambda said: said.starting("0.1.0", 7, Path("/var/lib/postroom"), 2),
        {"version": "0.1.0", "pid": 7, "state_dir": "/var/lib/postroom", "mailboxes": 2},
    ),
    "recovery": (
        lambda said: said.recovered(Recovered(3, 2, 1, is_reboot=False, was_clean_stop=False)),
        {"to_pending": 3, "to_uncertain": 2, "poison": 1, "is_reboot": False},
    ),
    "ready": (lambda said: said.ready(timedelta(seconds=0.25)), {"took_s": 0.25}),
    "drain": (
        lambda said: said.draining("SIGTERM", 5, timedelta(seconds=60)),
        {"reason": "SIGTERM", "under_way": 5, "drain_s": 60.0},
    ),
    "stop": (
        lambda said: said.stopped(0, timedelta(seconds=2)),
        {"level": "info", "left_under_way": 0, "took_s": 2.0},
    ),
    "a signal": (
        lambda said: said.signal_ignored("SIGHUP"),
        {"level": "warning", "signal": "SIGHUP"},
    ),
    "failure": (
        lambda said: said.failed(_raised(StoreBroken("disk I/O error"))),
        {"level": "error", "error": "StoreBroken", "detail": "disk I/O error"},
    ),
    "watchdog": (
        lambda said: said.watchdog_withheld("the loop wakes too late", timedelta(seconds=2)),
        {"level": "error", "loop_lag_s": 2.0},
    ),
    "pause": (
        lambda said: said.mailbox_paused("support", "wrong list", "uid:1000"),
        {"level": "warning", "mailbox_id": "support", "reason": "wrong list", "by": "uid:1000"},
    ),
    "resume": (lambda said: said.mailbox_resumed("support", "uid:0"), {"by": "uid:0"}),
    "a lease": (
        lambda said: said.lease_expired(LeaseExpired("agent", "support", 1, 2)),
        {"level": "warning", "consumer": "agent", "thread_id": "thr_0000000000001", "lease_id": "lse_0000000000002"},
    ),
    "dead events": (
        lambda said: said.events_died(EventsDied("agent", "support", 1, (2, 3))),
        {"level": "error", "consumer": "agent", "event_ids": "evt_0000000000002 evt_0000000000003"},
    ),
    "a loop": (
        lambda said: said.thread_held(
            ThreadHeld("support", 1, 2, "velocity_domain", "desk.example", ("thread", "domain"), 3)
        ),
        {"level": "error", "thread_id": "thr_0000000000001", "event_id": "evt_0000000000002",
         "reason": "velocity_domain", "peer_domain": "desk.example", "holds": "thread domain", "deliveries": 3},
    ),
    "its end": (
        lambda said: said.thread_freed(ThreadFreed("support", 1, 2, "velocity_domain", "uid:0", 3)),
        {"level": "info", "thread_id": "thr_0000000000001", "by": "uid:0", "deliveries": 3},
    ),
    "relay": (
        lambda said: said.relay_faulted(
            "main", RelayFault(Stage.AUTH, "login of u@example.com refused", SmtpReply(535, "5.7.8", "", b""))
        ),
        {"stage": "auth", "reply_code": 535, "detail": "login of …@example.com refused"},
    ),
    "store": (
        lambda said: said.store_refused(StoreUnavailable("busy")),
        {"level": "error", "error": "StoreUnavailable", "detail": "busy", "unlogged": 0},
    ),
    "store found": (lambda said: said.store_warned("is on overlay"), {"detail": "is on overlay"}),
    "clock": (lambda said: said.clock_doubted(), {"level": "error"}),
    "retention": (
        lambda said: said.retention_removed(1, 2, 4, 5, 3),
        {"jobs": 1, "mails": 4, "threads": 5, "files": 3},
    ),
    "files that are not there": (
        lambda said: said.spool_missing(2, "ab" * 32),
        {"level": "error", "files": 2, "sha256": "ab" * 32, "unlogged": 0},
    ),
    "peer": (lambda said: said.peer_refused(None, "unknown user"), {"uid": None}),
    "request": (
        lambda said: said.request_failed("POST /v1/jobs", _raised(KeyError("x"))),
        {"level": "error", "call": "POST /v1/jobs", "error": "KeyError"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("say", "fields"), SAID.values(), ids=SAID)
def test_what_happened_is_said(say: Callable[[Chronicle], None], fields: dict[str, object]) -> None:
    log = Log()
    say(log.chronicle)
    (line,) = log.lines()
    assert line | fields == line


def test_an_exception_is_told_by_the_way_it_came() -> None:
    log = Log()
    log.chronicle.request_failed("GET /v1/jobs", _raised(ValueError("no\nline <a@b.test>")))
    (line,) = log.lines()
    assert str(line["trace"]).startswith("test_chronicle.py:")
    assert "_raised" in str(line["trace"])
    assert line["detail"] == "no\nline <…@b.test>"
    assert log.stream.getvalue().count("\n") == 1


@pytest.mark.parametrize("error", [AlreadyRunning("process 7 is"), StateRefused("chmod 700 it.")])
def test_a_start_that_we_refuse_is_told_without_a_trace(error: Exception) -> None:
    log = Log()
    log.chronicle.failed(_raised(error))
    (line,) = log.lines()
    assert (line["detail"], line["trace"]) == (str(error), "")


def test_the_same_trouble_is_said_once_a_minute() -> None:
    log = Log()
    for _ in range(10):
        log.chronicle.store_refused(StoreUnavailable("busy"))
    log.clock.pass_(60)
    log.chronicle.store_refused(StoreUnavailable("busy"))
    assert [line["unlogged"] for line in log.lines()] == [0, 9]


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield root
    root.handlers[:], level = before
    root.setLevel(level)


def test_what_libraries_warn_of_comes_into_the_log_and_nothing_more(
    root_logger: logging.Logger,
) -> None:
    log = Log()
    lead_library_logs(log.chronicle)
    logging.getLogger("aiosmtplib").debug("AUTH PLAIN %s", "c2VjcmV0")
    logging.getLogger("mail.log").info(">> DATA")
    error = _raised(ConnectionResetError("peer a@b.test"))
    logging.getLogger("aiohttp.server").error("Error handling %s", "x@y.test", exc_info=error)
    (line,) = log.lines()
    assert line["logger"] == "aiohttp.server"
    assert line["detail"] == "Error handling …@y.test"
    assert line["error"] == "ConnectionResetError"


def test_a_record_that_can_not_be_read_stops_nothing(
    root_logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Log()
    handler = lead_library_logs(log.chronicle)
    handler.handle(logging.LogRecord("x", logging.ERROR, "f", 1, "%d", ("no number",), None))
    assert log.lines() == []
    assert "Logging error" in capsys.readouterr().err


def test_a_throttle_forgets_what_was_silent_longest() -> None:
    clock = LateClock()
    throttle = Throttle(clock)
    for kind in range(1025):
        assert throttle.pass_one(kind) == 0
    assert throttle.pass_one(1024) is None
    assert throttle.pass_one(1) is None
    assert throttle.pass_one(0) == 0
