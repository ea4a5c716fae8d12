"""The file that a backup is: one tar with the database, the key of reply addresses and the spool, and what they must be.

In this order: `postroom.db`, `token.key` where there is one, `spool/xx/SHA-256` in the order of their digests, and last
`manifest.json`, without which it is none: a file that was cut off is never taken for a backup. A file of the spool has
its digest for a name; the manifest has those of the others, and that of all names together. What could not be read of
the spool is named there, so that one damaged file costs no backup.
Known limits: a manifest proves that nothing was damaged, not that nobody changed it.
"""

import hashlib
import json
import os
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from errno import EMFILE, ENFILE, ENOMEM
from pathlib import Path
from typing import Any, BinaryIO, Final, NoReturn, Protocol, cast

from postroom.ports.errors import BackupDamaged


DATABASE: Final = "postroom.db"
KEY_FILE: Final = "token.key"
MANIFEST: Final = "manifest.json"
PIECE_BYTES: Final = 256 * 1024
FORMAT: Final = 1

_SPOOL: Final = re.compile(r"spool/([0-9a-f]{2})/(\1[0-9a-f]{62})", re.ASCII)
_LARGEST_MANIFEST: Final = 64 * 1024 * 1024
_CUT: Final = "it is no whole backup: it ends before its manifest"
_OF_OURS: Final = frozenset({EMFILE, ENFILE, ENOMEM})  # says nothing of the file
_MODE: Final = 0o600
_END: Final = bytes(2 * tarfile.BLOCKSIZE)


class Readable(Protocol):
    """Something that bytes come from."""

    def read(self, size: int, /) -> bytes:
        """At most so many; fewer only at the end."""
        ...


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a backup comes from: the version that made it, that of its tables, when, and of which store."""

    version: str
    schema: int
    created_at: str
    instance_id: str


@dataclass(frozen=True, slots=True)
class Sized:
    """A file as it must be."""

    size_bytes: int
    sha256: str


@dataclass(slots=True)
class _Names:
    """The files of the spool: how many, how large, and what they are called, as they go by."""

    files: int = 0
    size_bytes: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def add(self, sha256: str, size_bytes: int) -> None:
        self.files += 1
        self.size_bytes += size_bytes
        self.digest.update(sha256.encode())


@dataclass(frozen=True, slots=True)
class Manifest:
    """What stands in a whole backup. `missing` and `damaged` are digests of files that rows name and it has not."""

    origin: Origin
    database: Sized
    token_key: Sized | None
    spool_files: int
    spool_bytes: int
    spool_sha256: str
    missing: tuple[str, ...]
    damaged: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """What is packed. `spool` are digests and sizes in order, `path_of` says where such a file lies."""

    origin: Origin
    database: Path
    token_key: Path
    spool: Iterable[tuple[str, int]]
    path_of: Callable[[str], Path]


def pack(source: Source) -> Iterator[bytes]:
    """The bytes of the tar, in pieces. Raises OSError where the database can not be read."""
    database, key = hashlib.sha256(), None
    with source.database.open("rb") as file:
        database_bytes = os.fstat(file.fileno()).st_size
        yield from _packed(DATABASE, file, database_bytes, database)
    if source.token_key.exists():
        with source.token_key.open("rb") as file:
            digest, size_bytes = hashlib.sha256(), os.fstat(file.fileno()).st_size
            yield from _packed(KEY_FILE, file, size_bytes, digest)
        key = Sized(size_bytes, digest.hexdigest())
    names, missing, damaged = _Names(), list[str](), list[str]()
    for sha256, size_bytes in source.spool:
        yield from _pack_spool(
            source.path_of(sha256), sha256, size_bytes, names, (missing, damaged)
        )
    manifest = Manifest(
        origin=source.origin,
        database=Sized(database_bytes, database.hexdigest()),
        token_key=key,
        spool_files=names.files,
        spool_bytes=names.size_bytes,
        spool_sha256=names.digest.hexdigest(),
        missing=tuple(missing),
        damaged=tuple(damaged),
    )
    content = json.dumps({"postroom_backup": FORMAT, **asdict(manifest)}, indent=1).encode()
    yield _head(MANIFEST, len(content)) + content + _padding(len(content)) + _END


def unpack(stream: Readable, keep: Callable[[str], BinaryIO] | None = None) -> Manifest:
    """What a backup holds, once every digest in it was found right; `keep` says where each file goes.

    Raises: BackupDamaged; OSError from what is read or written.
    """
    try:
        with tarfile.open(fileobj=cast(BinaryIO, stream), mode="r|", bufsize=PIECE_BYTES) as tar:
            return _Unpacking(tar, keep).manifest()
    except (tarfile.TarError, EOFError) as error:
        message = f"it is no whole backup: {error}"
        raise BackupDamaged(message) from error


class _Unpacking:
    def __init__(self, tar: tarfile.TarFile, keep: Callable[[str], BinaryIO] | None) -> None:
        self._tar = tar
        self._keep = keep
        self._files: dict[str, Sized] = {}
        self._names = _Names()
        self._odd: list[str] = []
        self._last = ""

    def manifest(self) -> Manifest:
        while (member := self._tar.next()) is not None:
            self._tar.members.clear()  # type: ignore[attr-defined] # it would remember all
            if member.name == MANIFEST:
                found = self._read_manifest(member)
                if self._tar.next() is not None:
                    _fail("something follows its manifest")
                self._check(found)
                return found
            self._take(member)
        raise BackupDamaged(_CUT)

    def _take(self, member: tarfile.TarInfo) -> None:
        spool = _SPOOL.fullmatch(member.name)
        is_first = not self._files and member.name == DATABASE
        is_key = list(self._files) == [DATABASE] and member.name == KEY_FILE and not self._last
        is_next = bool(self._files) and spool is not None and spool[2] > self._last
        if not member.isreg() or not (is_first or is_key or is_next):
            _fail(f"there is something else in it: {member.name[:80]!r}")
        digest = self._copy(member)
        if spool is None:
            self._files[member.name] = Sized(member.size, digest)
            return
        self._last = spool[2]
        self._names.add(self._last, member.size)
        if digest != self._last:
            self._odd.append(self._last)

    def _copy(self, member: tarfile.TarInfo) -> str:
        digest, source = hashlib.sha256(), self._tar.extractfile(member)
        kept = None if self._keep is None else self._keep(member.name)
        try:
            while source is not None and (piece := source.read(PIECE_BYTES)):
                digest.update(piece)
                if kept is not None:
                    kept.write(piece)
            if kept is not None:
                kept.flush()
                os.fsync(kept.fileno())
        finally:
            if kept is not None:
                kept.close()
        return digest.hexdigest()

    def _read_manifest(self, member: tarfile.TarInfo) -> Manifest:
        source = self._tar.extractfile(member)
        if source is None or member.size > _LARGEST_MANIFEST:
            _fail("its manifest is none")
        try:
            found = json.loads(source.read())
            if found.pop("postroom_backup") != FORMAT:
                _fail("it was made by a later postroom")
            return _manifest(found)
        except (ValueError, KeyError, TypeError, AttributeError):
            _fail("its manifest can not be read")

    def _check(self, manifest: Manifest) -> None:
        for name, wanted in ((DATABASE, manifest.database), (KEY_FILE, manifest.token_key)):
            if self._files.get(name) != wanted:
                _fail(f"{name} is not what was saved")
        names = self._names
        counted = (names.files, names.size_bytes, names.digest.hexdigest())
        if counted != (manifest.spool_files, manifest.spool_bytes, manifest.spool_sha256):
            _fail("files of the spool are not there")
        if set(self._odd) - set(manifest.damaged):
            _fail("a file of the spool is not what was saved")


def _pack_spool(
    path: Path, sha256: str, size_bytes: int, names: _Names, bad: tuple[list[str], list[str]]
) -> Iterator[bytes]:
    missing, damaged = bad
    try:
        file = path.open("rb")
    except OSError as error:
        if error.errno in _OF_OURS:
            raise
        missing.append(sha256)
        return
    with file:
        if os.fstat(file.fileno()).st_size != size_bytes:
            missing.append(sha256)
            return
        digest = hashlib.sha256()
        name = f"spool/{sha256[:2]}/{sha256}"
        yield from _packed(name, _Filled(file), size_bytes, digest)
    names.add(sha256, size_bytes)
    if digest.hexdigest() != sha256:
        damaged.append(sha256)


@dataclass(frozen=True, slots=True)
class _Filled:
    """A file in which zeros stand for what can not be read: its digest tells."""

    file: BinaryIO

    def read(self, size: int, /) -> bytes:
        try:
            return self.file.read(size) or bytes(size)
        except OSError:
            return bytes(size)


def _packed(name: str, file: Readable, size_bytes: int, digest: Any) -> Iterator[bytes]:
    yield _head(name, size_bytes)
    left = size_bytes
    while left:
        piece = file.read(min(left, PIECE_BYTES))
        if not piece:
            message = f"{name} became shorter while it was read"
            raise OSError(message)
        digest.update(piece)
        left -= len(piece)
        yield piece
    yield _padding(size_bytes)


def _head(name: str, size_bytes: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size_bytes, _MODE
    return info.tobuf(tarfile.GNU_FORMAT)


def _padding(size_bytes: int) -> bytes:
    return bytes(-size_bytes % tarfile.BLOCKSIZE)


def _manifest(found: dict[str, Any]) -> Manifest:
    key = found["token_key"]
    return Manifest(
        **{
            **found,
            "origin": Origin(**found["origin"]),
            "database": Sized(**found["database"]),
            "token_key": None if key is None else Sized(**key),
            "missing": tuple(found["missing"]),
            "damaged": tuple(found["damaged"]),
        }
    )


def _fail(what: str) -> NoReturn:
    message = f"it is no whole backup: {what}"
    raise BackupDamaged(message)
