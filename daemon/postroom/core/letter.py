"""Mail that the daemon writes to its own people: plain text in short lines, with nothing of a stranger's that is not cleaned. Pure."""

import unicodedata
from dataclasses import dataclass

from postroom.core.instant import Instant, utc
from postroom.core.words import shown


@dataclass(frozen=True, slots=True)
class Letter:
    """What is written."""

    subject: str
    text: str


def told(at: Instant) -> str:
    """An instant for people, `2026-11-30 07:00 UTC`."""
    return f"{utc(at):%Y-%m-%d %H:%M} UTC"


def clean(text: str, most: int) -> str:
    """At most so many characters of it on one line, without what turns the direction of writing or is not seen."""
    return "".join("?" if unicodedata.category(one) == "Cf" else one for one in shown(text, most))
