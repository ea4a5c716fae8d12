"""Trouble of this host with files that passes by itself. It says nothing about the file, so nobody is told that the file is bad."""

import errno
from typing import Final

from postroom.ports.errors import StoreUnavailable


_SHORT: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EAGAIN, errno.EINTR}
)


def check_shortage(error: OSError) -> None:
    """Return when the error is one of the file. Raises: StoreUnavailable when this host is short of something."""
    if error.errno in _SHORT:
        message = f"A file can not be read now: {error.strerror}"
        raise StoreUnavailable(message) from error
