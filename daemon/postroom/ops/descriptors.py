"""How many files may be open (RLIMIT_NOFILE): raised as far as it goes, and shared out among the doors.

The soft limit is what `select` can bear and no more; nothing here uses that. The API and the listener take each a share,
so that no flood at a door leaves the store, the spool and the relays without descriptors.
"""

import resource
from dataclasses import dataclass
from typing import Final


_ENOUGH: Final = 65_536  # where there is no hard limit
_OWN: Final = 64  # the store, the spool, the parsers, the log
_PART_OF_API: Final = 2  # one in so many of what is left
_PART_OF_LISTENER: Final = 4
_FEWEST: Final = 4  # with less a door would be shut


@dataclass(frozen=True, slots=True)
class Shares:
    """How many connections each door may hold; what is left is for relays and files."""

    api: int
    listener: int


def take_descriptors() -> Shares:
    """Raise the limit of this process, and what follows from it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(soft, _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH))
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return share(most)


def share(limit: int) -> Shares:
    """The shares of so many descriptors."""
    left = max(0, limit - _OWN)
    return Shares(max(_FEWEST, left // _PART_OF_API), max(_FEWEST, left // _PART_OF_LISTENER))
