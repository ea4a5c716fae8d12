"""The Date field (RFC 5322 §3.3): what the sender's clock said, for people to read; nothing is decided by it."""

from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz
from typing import Final

from postroom.core.instant import SECOND, Instant, format_instant
from postroom.inbound.defects import Defect


_LENGTH_MOST: Final = 200
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def read_date(raw: bytes | None, defects: set[Defect]) -> str | None:
    """The date in RFC 3339, None when it is missing, unreadable or not in the years 1970 to 9999."""
    if raw is None:
        return None
    found = _read(raw[:_LENGTH_MOST].decode("ascii", errors="replace"))
    if found is None:
        defects.add(Defect.DATE_UNREADABLE)
    return found


def _read(text: str) -> str | None:
    try:
        parsed = parsedate_tz(text)
        if parsed is None:
            return None
        zone = timezone(timedelta(seconds=parsed[9] or 0))
        moment = datetime(*parsed[:5], min(parsed[5], 59), tzinfo=zone)
        seconds = (moment - _EPOCH) // timedelta(seconds=1)
    except (ValueError, TypeError, IndexError, OverflowError, AttributeError):
        return None  # the standard library's reader fails in all these ways on what is no date
    return format_instant(Instant(seconds * SECOND)) if seconds >= 0 else None
