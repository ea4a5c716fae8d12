"""Decisions that write into memory."""

import io
import json

from postroom.ops.decisions import Decisions
from postroom.ops.logbook import Logbook
from postroom.ops.logwords import LogFormat, LogLevel
from postroom.ops.throttle import Throttle
from support.ops_clock import LateClock
from support.ops_deliveries import NOW


class Log:
    """Decisions that write into memory."""

    def __init__(self, level: LogLevel = LogLevel.DEBUG, form: LogFormat = LogFormat.JSON) -> None:
        self.stream = io.StringIO()
        self.clock = LateClock(now=NOW)
        self.book = Logbook(self.stream, self.clock, level, form, {})
        self.decisions = Decisions(self.book, Throttle(self.clock))

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def line(self) -> dict[str, object]:
        (only,) = self.lines()
        return only
