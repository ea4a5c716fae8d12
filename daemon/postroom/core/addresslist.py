"""Lists of addresses in a mailbox's settings: `recipients_allow` and `recipients_deny`.

An entry is one of: `user@domain` (that address, without regard to case), `domain` or `@domain` (every address of
exactly that domain), `*.domain` (every address of a domain below it, not of itself). An empty allow list allows all; deny
wins over allow. International domains may be written either way.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from postroom.core.address import read_address
from postroom.core.job import Address


# Any local part will do to judge a domain.
_ANYONE: Final = "x@"


# Entries are few and asked for with every recipient.
@lru_cache(maxsize=4096)
def read_entry(text: str) -> str | None:
    """The entry in its normal form: `user@domain`, `@domain` or `*.domain`; None when it is none of these."""
    if text.startswith("*."):
        found = read_address(_ANYONE + text[2:])
        return f"*.{found.domain}" if isinstance(found, Address) else None
    if "@" in text[1:]:
        found = read_address(text)
        return found.key if isinstance(found, Address) else None
    found = read_address(_ANYONE + text.removeprefix("@"))
    return f"@{found.domain}" if isinstance(found, Address) else None


def matches(entries: Iterable[str], address: Address) -> bool:
    """Whether any entry (as written in the settings; one that is wrong matches nothing) covers the address."""
    return any(_covers(read_entry(one), address) for one in entries)


def may_write_to(address: Address, *, allow: Iterable[str], deny: Iterable[str]) -> bool:
    """Whether a mailbox with these lists may send to the address."""
    allowed = tuple(allow)
    return not matches(deny, address) and (not allowed or matches(allowed, address))


def _covers(entry: str | None, address: Address) -> bool:
    if entry is None:
        return False
    if entry.startswith("*."):
        return address.domain.endswith(entry[1:])
    if entry.startswith("@"):
        return address.domain == entry[1:]
    return address.key == entry
