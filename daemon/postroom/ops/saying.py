"""How what the daemon says of itself gets into the log: every time, or once a minute for each kind."""

from pathlib import Path
from traceback import extract_tb

from postroom.ops.logbook import Logbook
from postroom.ops.logline import Value, without_addresses
from postroom.ops.logwords import LogEvent
from postroom.ops.throttle import Throttle


class Saying:
    """What has a log to write to."""

    def __init__(self, book: Logbook, throttle: Throttle) -> None:
        self._book = book
        self._throttle = throttle

    def _say(self, event: LogEvent, **values: Value) -> None:
        self._book.write(event, values)

    def _say_seldom(self, event: LogEvent, kind: object, **values: Value) -> None:
        unlogged = self._throttle.pass_one((event, kind))
        if unlogged is not None:
            self._book.write(event, values | {"unlogged": unlogged})


def error_fields(error: BaseException) -> dict[str, Value]:
    """What is said of an error: its kind, its words without addresses, and the way to where it was raised."""
    frames = reversed(extract_tb(error.__traceback__))
    way = (f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
    return {
        "error": type(error).__name__,
        "detail": without_addresses(str(error)),
        "trace": " < ".join(way),
    }
