"""A power cut, for files of ours: which bytes and names would still be there, had it come at any one moment.

    with PowerCuts(folder, monkeypatch) as cuts:
        ...                                  # what writes files under `folder`
    for image in cuts.images:                # one for each operation on a name or a sync, before and after it
        image.careful                        # only what was synced: the least that a disk may keep
        image.eager                          # every name at once, of the bytes only what was synced

What is kept is modelled after POSIX, not after one file system: the bytes of a file by its own fsync, a name by the
fsync of its directory. `folder` itself is there from the beginning, with what it holds.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest


Image = dict[str, bytes]
_OPERATIONS = ("rename", "replace", "unlink", "mkdir", "rmdir")


@dataclass(frozen=True)
class Cut:
    """What is there after a cut at this moment: paths below the folder, and their bytes."""

    moment: str
    careful: Image
    eager: Image


class PowerCuts:
    """Watches operations of this process."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.images: list[Cut] = []
        self._folder = folder
        self._patch = patch
        self._bytes: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._folders: set[int] = set()

    def __enter__(self) -> Self:
        for path in (self._folder, *self._folder.rglob("*")):
            self._sync(path)
        self._patch.setattr(os, "fsync", self._synced(os.fsync))
        for name in _OPERATIONS:
            self._patch.setattr(os, name, self._watched(name, getattr(os, name)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._patch.undo()
        self.look("the end")

    def look(self, moment: str) -> None:
        """What would be there now."""
        root = self._folder.stat().st_ino
        self.images.append(Cut(moment, self._careful(root, ""), self._eager()))

    def _watched(self, name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **more: Any) -> Any:
            self.look(f"before {name} {given[0]}")
            done = act(*given, **more)
            self.look(f"after {name} {given[0]}")
            return done

        return run

    def _synced(self, act: Callable[[int], None]) -> Callable[[int], None]:
        def run(number: int) -> None:
            path = Path(f"/proc/self/fd/{number}").readlink()
            self.look(f"before fsync {path}")
            act(number)
            self._sync(path)
            self.look(f"after fsync {path}")

        return run

    def _sync(self, path: Path) -> None:
        inode = path.stat().st_ino
        if path.is_dir():
            entries = list(os.scandir(path))
            self._names[inode] = {one.name: one.inode() for one in entries}
            self._folders.update(one.inode() for one in entries if one.is_dir())
        else:
            self._bytes[inode] = path.read_bytes()

    def _careful(self, folder: int, before: str) -> Image:
        found: Image = {}
        for name, inode in self._names.get(folder, {}).items():
            if inode in self._folders:
                found |= self._careful(inode, f"{before}{name}/")
            else:
                found[before + name] = self._bytes.get(inode, b"")
        return found

    def _eager(self) -> Image:
        found: Image = {}
        for path in self._folder.rglob("*"):
            if path.is_file():
                name = str(path.relative_to(self._folder))
                found[name] = self._bytes.get(path.stat().st_ino, b"")
        return found
