"""The log itself: one line per event on one stream, filtered by level; the one door to structlog.

Rules: a line has exactly the fields of its event, null where there is nothing to say; a stream that fails loses the
line and nothing else.
"""

import logging
import os
from collections.abc import Mapping, MutableMapping
from typing import Final, TextIO

import structlog
from structlog.typing import FilteringBoundLogger, WrappedLogger

from postroom.core.instant import format_instant
from postroom.ops.logfields import FIELDS
from postroom.ops.logline import Value, console_line, journal_prefix, json_line
from postroom.ops.logwords import LogEvent, LogFormat, LogLevel, level_of
from postroom.ports.host import Clock


_NUMBERS: Final = logging.getLevelNamesMapping()


class Logbook:
    """Writes lines to `stream`."""

    def __init__(
        self,
        stream: TextIO,
        clock: Clock,
        level: LogLevel,
        form: LogFormat,
        environ: Mapping[str, str],
    ) -> None:
        self._stream = stream
        self._clock = clock
        self._is_journal = _leads_to_journal(stream, environ)
        self.switch(level, form)

    def switch(self, level: LogLevel, form: LogFormat) -> None:
        """Write this much, in this form."""
        self._form = form
        lines = structlog.wrap_logger(
            _Lines(self._stream),
            processors=[self._render],
            wrapper_class=structlog.make_filtering_bound_logger(_NUMBERS[level.upper()]),
        )
        self._log: FilteringBoundLogger = lines.bind()  # once, not for every line

    def shows(self, event: LogEvent) -> bool:
        """Whether lines of this event are written at all."""
        return self._log.is_enabled_for(_NUMBERS[level_of(event).upper()])

    def write(self, event: LogEvent, values: Mapping[str, Value]) -> None:
        """One line; `values` has fields of the event and no others."""
        self._log.log(_NUMBERS[level_of(event).upper()], event, **values)

    def _render(self, _: WrappedLogger, level: str, line: MutableMapping[str, Value]) -> str:
        event = LogEvent(str(line.pop("event")))
        fields = {name: line.pop(name, None) for name in FIELDS[event]}
        if line:
            message = f"{event} has no field {', '.join(line)}"
            raise KeyError(message)
        at = format_instant(self._clock.now())
        shape = json_line if self._form is LogFormat.JSON else console_line
        text = shape(LogLevel(level), event, at, fields)
        return journal_prefix(LogLevel(level)) + text if self._is_journal else text


class _Lines:
    """What structlog writes to: one write for each line, so that lines of several threads never mix."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, line: str) -> None:
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            return

    debug = info = warning = error = write


def _leads_to_journal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether the stream is the one that systemd connected to its journal, systemd.exec(5)."""
    named = environ.get("JOURNAL_STREAM")
    try:
        held = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return named == f"{held.st_dev}:{held.st_ino}"
