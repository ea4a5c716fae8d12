"""Times as people type them: an RFC 3339 instant, or how long ago or from now (`90s`, `30m`, `24h`, `7d`)."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import click

from postroom.core.instant import Instant, format_instant, micros, parse_instant


_SPAN: Final = re.compile(r"\+?(\d{1,9}(?:\.\d{1,6})?)([smhdw])", re.ASCII)
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def ago(option: str, text: str | None, now: datetime) -> str | None:
    """The instant so long before `now`, for the daemon; `option` is what it was typed for."""
    return _instant(option, text, now, -1)


def ahead(option: str, text: str | None, now: datetime) -> str | None:
    """The instant so long after `now`, for the daemon; `option` is what it was typed for."""
    return _instant(option, text, now, 1)


def _instant(option: str, text: str | None, now: datetime, sign: int) -> str | None:
    if text is None:
        return None
    span = _SPAN.fullmatch(text)
    found = parse_instant(text) if span is None else _distant(span, now, sign)
    if found is None:
        what = f"'{text}' is no time: write 24h, 30m, 7d or 2026-11-30T07:00:00Z."
        raise click.BadParameter(what, param_hint=f"'{option}'")
    return format_instant(found)


def _distant(span: re.Match[str], now: datetime, sign: int) -> Instant | None:
    """None beyond the year 9999; what would be before 1970 is 1970."""
    try:
        distance = timedelta(seconds=float(span[1]) * _UNITS[span[2]]) * sign
        then = now + distance
    except OverflowError:
        return None if sign > 0 else Instant(0)
    return Instant(max(0, micros(then - _EPOCH)))
