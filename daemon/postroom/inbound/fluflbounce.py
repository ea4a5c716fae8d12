"""The one door to flufl.bounce: whom it finds in a report that our own forms can not read.

It wants the standard library's message objects: they are made with compat32 and of a bounded beginning only (HAZARDS
§2.4), and this runs in the parser process, never in the daemon.
"""

from email import message_from_bytes
from email.policy import compat32
from typing import Final

from flufl.bounce import all_failures


READ_MOST: Final = 32 * 1024
NAMED_MOST: Final = 100
_LINES_MOST: Final = 1000
# Its expressions go back and forth in a line: one of 64 KiB of commas took six seconds.
_LINE_MOST: Final = 400
_SIGNS_MOST: Final = 8


def find_failed(raw: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Addresses that are still tried, and addresses that are given up; none where the library stumbles."""
    try:
        message = message_from_bytes(_harmless(raw[:READ_MOST]), policy=compat32)
        delayed, failed = all_failures(message)
    except Exception:  # noqa: BLE001 - a library that reads strangers' mail may raise anything
        return (), ()
    return _addresses(delayed), _addresses(failed)


def _harmless(raw: bytes) -> bytes:
    lines = raw.split(b"\n")[:_LINES_MOST]
    return b"\n".join(line for line in lines if _is_harmless(line))


def _is_harmless(line: bytes) -> bool:
    return len(line) <= _LINE_MOST and all(
        line.count(sign) <= _SIGNS_MOST for sign in (b",", b"<", b"@")
    )


def _addresses(found: frozenset[bytes]) -> tuple[str, ...]:
    return tuple(sorted(one.decode("ascii", errors="replace") for one in found)[:NAMED_MOST])
