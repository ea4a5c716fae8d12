"""Mail that the daemon writes to its own people: plain text in short lines, with nothing of a stranger's that is not cleaned. Pure."""

import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from postroom.core.instant import Instant
from postroom.core.words import shown


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Letter:
    """What is written."""

    subject: str
    text: str


def told(at: Instant) -> str:
    """An instant for people, `2026-11-30 07:00 UTC`."""
    moment = _EPOCH + timedelta(microseconds=at)
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def clean(text: str, most: int) -> str:
    """At most so many characters of it on one line, without what turns the direction of writing or is not seen."""
    return "".join("?" if unicodedata.category(one) == "Cf" else one for one in shown(text, most))
