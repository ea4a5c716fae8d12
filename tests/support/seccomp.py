"""System call filters as systemd makes them of a unit, with the library that systemd makes them with.

install(read_unit(UNIT), also_denied=("fdatasync",))    # this process, for ever; whoever it becomes by exec, too

What the unit denies kills here, so that a call that is made all the same is seen; but for what is only PROBED, which fails
as the unit says (`SystemCallErrorNumber=`). What systemd has never heard of fails with ENOSYS, as under systemd.
"""

import ctypes
import errno
import mmap
import socket
import stat
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


KILL = 0x8000_0000
ALLOW = 0x7FFF_0000
EQUAL, GREATER, MASKED = 4, 6, 7
# Tried, and lived without: libuv, below uvloop, looks whether there are rings.
PROBED = {"io_uring_setup"}
SHM_EXEC = 0o100_000
CLONE_NEW = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
O_CREAT = 0o100
# Where a call that makes a file, or changes one, has its mode; with the flags that say whether it makes one.
MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "mkdir": 1, "mkdirat": 2, "mknod": 1, "creat": 1}
OPENS = {"open": 1, "openat": 2}


class _Compare(ctypes.Structure):
    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("a", ctypes.c_uint64),
        ("b", ctypes.c_uint64),
    )


@dataclass(frozen=True)
class Unit:
    """What the unit file says of the process that it starts; a key may stand there more than once."""

    settings: tuple[tuple[str, str], ...]

    def all(self, key: str) -> list[str]:
        return [value for name, value in self.settings if name == key]

    def is_on(self, key: str) -> bool:
        return self.all(key) == ["yes"]


def read_unit(path: Path) -> Unit:
    lines = (line.partition("=") for line in path.read_text("utf-8").splitlines())
    return Unit(tuple((name, value) for name, _, value in lines if name[:1].isalpha()))


def allowed_calls(unit: Unit, groups: dict[str, set[str]]) -> set[str]:
    """SystemCallFilter=: the first line says what may be called, those with ~ take away."""
    found: set[str] = set()
    for line in unit.all("SystemCallFilter"):
        named: set[str] = set()
        for word in line.removeprefix("~").split():
            named |= groups.get(word, {word})
        found = found - named if line.startswith("~") else found | named
    return found


def call_groups() -> dict[str, set[str]]:
    """Every group that systemd has, down to its calls."""
    told = subprocess.run(
        ["systemd-analyze", "syscall-filter", "--no-pager"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    groups: dict[str, set[str]] = {}
    name = ""
    for line in told.splitlines():
        if line.startswith("@"):
            name = line.strip()
            groups[name] = set()
        elif (
            name and line.startswith(" ") and line.strip()[:1].isalnum() | (line.strip()[:1] == "@")
        ):
            groups[name].add(line.strip())

    def expand(words: Iterable[str]) -> set[str]:
        return set[str]().union(*(expand(groups[one]) if one in groups else {one} for one in words))

    return {one: expand(calls) for one, calls in groups.items()}


class _Filter:
    """One filter; the strictest of all that a process has counts."""

    def __init__(self, library: ctypes.CDLL, otherwise: int) -> None:
        self._library = library
        self._filter = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(otherwise)))
        assert self._filter.value is not None

    def add(self, action: int, call: str, *when: tuple[int, int, int, int]) -> None:
        """Nothing for a call that this architecture does not have."""
        number = self._library.seccomp_syscall_resolve_name(call.encode())
        if number < 0:
            return
        tests = (_Compare * len(when))(*(_Compare(*one) for one in when))
        failed = self._library.seccomp_rule_add_array(
            self._filter, ctypes.c_uint32(action), number, len(when), tests
        )
        assert failed == 0, (call, failed)

    def load(self) -> None:
        failed = self._library.seccomp_load(self._filter)
        assert failed == 0, failed


def install(unit: Unit, groups: dict[str, set[str]], also_denied: Iterable[str] = ()) -> None:
    """Confine this process as the unit says; the list of allowed calls comes last, for it allows no more filters."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_rule_add_array.argtypes = (
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.c_void_p,
    )
    some = _Filter(library, ALLOW)
    _add_families(some, {int(getattr(socket, one)) for one in _families(unit)})
    if unit.is_on("MemoryDenyWriteExecute"):
        _add_memory(some)
    if unit.is_on("RestrictNamespaces"):
        _add_namespaces(some)
    if unit.is_on("RestrictSUIDSGID"):
        _add_modes(some)
    if unit.is_on("LockPersonality"):
        some.add(_fails(errno.EPERM), "personality", (0, GREATER, 0, 0))
    some.load()
    listed = _Filter(library, _fails(errno.ENOSYS))
    allowed = allowed_calls(unit, groups) - set(also_denied)
    (name,) = unit.all("SystemCallErrorNumber")
    for call in groups["@known"] | allowed:
        denied = _fails(getattr(errno, name)) if call in PROBED else KILL
        listed.add(ALLOW if call in allowed else denied, call)
    listed.load()


def _families(unit: Unit) -> list[str]:
    (line,) = unit.all("RestrictAddressFamilies")
    return line.split()


def _fails(number: int) -> int:
    return 0x0005_0000 | number


def _add_families(some: _Filter, allowed: set[int]) -> None:
    action = _fails(errno.EAFNOSUPPORT)
    some.add(action, "socket", (0, GREATER, max(allowed), 0))
    for family in set(range(max(allowed))) - allowed:
        some.add(action, "socket", (0, EQUAL, family, 0))


def _add_memory(some: _Filter) -> None:
    both, action = mmap.PROT_WRITE | mmap.PROT_EXEC, _fails(errno.EPERM)
    some.add(action, "mmap", (2, MASKED, both, both))
    for call in ("mprotect", "pkey_mprotect"):
        some.add(action, call, (2, MASKED, mmap.PROT_EXEC, mmap.PROT_EXEC))
    some.add(action, "shmat", (2, MASKED, SHM_EXEC, SHM_EXEC))


def _add_namespaces(some: _Filter) -> None:
    some.add(_fails(errno.ENOSYS), "clone3")  # its flags can not be looked at
    some.add(_fails(errno.EPERM), "setns", (1, EQUAL, 0, 0))
    for flag in CLONE_NEW:
        some.add(_fails(errno.EPERM), "clone", (0, MASKED, flag, flag))
        some.add(_fails(errno.EPERM), "unshare", (0, MASKED, flag, flag))


def _add_modes(some: _Filter) -> None:
    action = _fails(errno.EPERM)
    some.add(_fails(errno.ENOSYS), "openat2")
    for bit in (stat.S_ISUID, stat.S_ISGID):
        for call, place in MODES.items():
            some.add(action, call, (place, MASKED, bit, bit))
        for call, place in OPENS.items():
            made = (place, MASKED, O_CREAT, O_CREAT)
            some.add(action, call, made, (place + 1, MASKED, bit, bit))
