"""Whether the files that are written are still those that the next start will find.

SQLite goes on writing to a file that was deleted or replaced, and nothing it says tells so. What was accepted into such
a file would be lost with the process, so each group looks after its commit and before its answers: one stat for each
file, some microseconds. While nothing is written the heartbeat looks.
"""

import os
from collections.abc import Iterable
from pathlib import Path


class Anchor:
    """Remembers which file was where. A file that is not there yet counts from when it is first seen."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._held = {path: _identity(path) for path in paths}

    def find_lost(self) -> Path | None:
        """The first of the files that is gone, or another one by now."""
        for path, held in self._held.items():
            found = _identity(path)
            if held is None:
                self._held[path] = found
            elif found != held:
                return path
        return None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        held = os.stat(path)  # noqa: PTH116 - Path.stat costs as much again
    except OSError:
        return None
    return held.st_dev, held.st_ino
