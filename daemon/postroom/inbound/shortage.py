"""What this machine lacks for the moment: room on the disk, open files, processes. It says nothing about a mail."""

from errno import EAGAIN, EDQUOT, EMFILE, ENFILE, ENOMEM, ENOSPC
from typing import Final

from postroom.ports.errors import StorageFull, StoreError, StoreUnavailable


_FULL: Final = frozenset({ENOSPC, EDQUOT})
_SHORT: Final = frozenset({EAGAIN, EMFILE, ENFILE, ENOMEM})


def find_shortage(error: OSError) -> StoreError | None:
    """Why the same may work later; None where the error says something else."""
    if error.errno in _FULL:
        return StorageFull("There is no room on the disk to read a mail in.")
    if error.errno in _SHORT:
        return StoreUnavailable("There are not enough files or processes to read a mail with.")
    return None
