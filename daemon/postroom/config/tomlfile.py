"""A TOML file that is no trap: bounded before it is parsed.

The parser takes time with the square of how many parts a dotted key has: 15 s for one of 100 KB. Settings have four.
"""

import errno
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Final


_LARGEST: Final = 4 * 1024 * 1024  # bytes; some ten thousand mailboxes
# No domain in a text has as many labels, so that text need not be told from keys.
_PARTS_MOST: Final = 64
# Each part is gone through once from its own beginning: nothing is tried again.
_PART: Final = r"""(?:(?<![\w-])[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG: Final = re.compile(rf"(?:{_PART}[ \t]*+\.[ \t]*+){{{_PARTS_MOST}}}", re.ASCII)


def read_toml(path: Path) -> dict[str, object]:
    """What stands in it; never waits for a pipe.

    Raises: OSError; ValueError, RecursionError: it is no TOML, or none that is read.
    """
    text = _read_text(path)
    found = _LONG.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        message = f"a key of more than {_PARTS_MOST} parts (at line {line})"
        raise ValueError(message)
    return tomllib.loads(text)


def _read_text(path: Path) -> str:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise OSError(errno.EFBIG, f"it is too large for settings, over {_LARGEST >> 20} MiB")
    return content.decode()
