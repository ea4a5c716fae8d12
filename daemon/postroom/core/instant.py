"""Instants: whole microseconds since 1970-01-01 UTC; outside the code RFC 3339 with `Z`.

Whole numbers are exact, sort as they are and fit SQLite; a leap second is read as the second after it.
Known limits: years 1970 to 9999.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NewType


Instant = NewType("Instant", int)

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_RFC3339: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:)(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Moment:
    """Now, on both clocks: `at` for what is stored and shown, `mono` (microseconds) for what is measured."""

    at: Instant
    mono: int

    def when(self, mono: int) -> Instant:
        """The wall-clock instant of a moment on the monotonic clock."""
        return Instant(self.at + mono - self.mono)


def micros(duration: timedelta) -> int:
    """The duration in whole microseconds."""
    return duration // timedelta(microseconds=1)


def later(instant: Instant, duration: timedelta) -> Instant:
    """The instant `duration` after `instant`."""
    return Instant(instant + micros(duration))


def utc(instant: Instant) -> datetime:
    """The date and time of an instant; of one out of our years (a damaged disk made it) the nearest in them."""
    return _EPOCH + timedelta(microseconds=_in_our_years(instant))


def format_instant(instant: Instant) -> str:
    """RFC 3339 in UTC with microseconds, `2026-11-30T07:00:00.000000Z`."""
    second, fraction = divmod(_in_our_years(instant), SECOND)
    return f"{_format_second(second)}.{fraction:06}Z"


def _in_our_years(instant: Instant) -> int:
    return min(max(instant, 0), _LAST)


@lru_cache(maxsize=1024)  # most instants that are told are of just now
def _format_second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).replace(tzinfo=None).isoformat()


def parse_instant(text: str) -> Instant | None:
    """Read an RFC 3339 instant with any offset; None when it is not one."""
    found = _RFC3339.fullmatch(text)
    if found is None:
        return None
    day, clock, second, fraction, offset = found.groups()
    is_leap = second == "60"
    plain = f"{day}T{clock}{'59' if is_leap else second}{'+00:00' if offset in 'Zz' else offset}"
    try:
        moment = datetime.fromisoformat(plain) + timedelta(seconds=is_leap)
    except (ValueError, OverflowError):
        return None
    parts = int((fraction or ".0")[1:7].ljust(6, "0"))
    found_at = (moment - _EPOCH) // timedelta(microseconds=1) + parts
    return Instant(found_at) if 0 <= found_at <= _LAST else None
