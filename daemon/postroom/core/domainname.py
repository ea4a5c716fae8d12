"""Domains as they are compared: lower-case letters, digits and hyphens (RFC 5890), or None. Pure.

Everything that mail says of a domain passes here first: what is not a plain name is never cut, cleaned or guessed into
one, since whoever writes `example.net(.example.com` hopes for that (CVE-2020-12272).
"""

import re
from typing import Final

from postroom.core.address import read_address
from postroom.core.job import Address


DOMAIN_MOST: Final = 253

_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_LDH: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")


def read_domain(text: str) -> str | None:
    """The domain in A-labels and lower case; None where it is none. An IP address is none."""
    if not text or len(text) > DOMAIN_MOST:
        return None
    plain = text.lower() if text.isascii() else _in_a_labels(text)
    if plain is None or not _LDH.fullmatch(plain) or plain.rpartition(".")[2].isdigit():
        return None
    return plain


def domain_of(address: str) -> str | None:
    """The domain of an address; what stands before the last @ may be anything."""
    return read_domain(address.rpartition("@")[2]) if "@" in address else None


def _in_a_labels(text: str) -> str | None:
    # Any local part will do to judge a domain.
    found = read_address(f"x@{text}")
    return found.domain if isinstance(found, Address) else None
