"""Files that a library opens by their name, and would wait for or read without end where they are no plain files."""

import errno
import os
import stat
from pathlib import Path
from typing import Final


_LARGEST: Final = (
    16 * 1024 * 1024
)  # bytes; every certificate authority of the world is a quarter of a megabyte


def check_plain(*paths: str | Path) -> None:
    """Whether each of these is a plain file of a sensible size. Raises: OSError where one is not."""
    for path in paths:
        held = Path(path).stat()
        if not stat.S_ISREG(held.st_mode):
            code = errno.EISDIR if stat.S_ISDIR(held.st_mode) else errno.EINVAL
            reason = "it is not a file" if code == errno.EINVAL else os.strerror(code)
            raise OSError(code, reason)
        if held.st_size > _LARGEST:
            raise OSError(errno.EFBIG, "it is too large")
