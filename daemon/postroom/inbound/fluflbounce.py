"""The one door to flufl.bounce: whom it finds in a report that our own forms can not read.

It wants the standard library's message objects: they are made with compat32 and of a bounded beginning only (HAZARDS
§2.4), and this runs in the parser process, never in the daemon.
"""

from email import message_from_bytes
from email.policy import compat32
from typing import Final

from flufl.bounce import all_failures


READ_MOST: Final = 64 * 1024
NAMED_MOST: Final = 100


def find_failed(raw: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Addresses that are still tried, and addresses that are given up; none where the library stumbles."""
    try:
        delayed, failed = all_failures(message_from_bytes(raw[:READ_MOST], policy=compat32))
    except Exception:  # noqa: BLE001 - a library that reads strangers' mail may raise anything
        return (), ()
    return _addresses(delayed), _addresses(failed)


def _addresses(found: frozenset[bytes]) -> tuple[str, ...]:
    return tuple(sorted(one.decode("ascii", errors="replace") for one in found)[:NAMED_MOST])
