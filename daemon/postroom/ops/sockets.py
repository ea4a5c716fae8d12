"""Our own Unix socket, where systemd hands none over, and who is at the other end of a connection (HAZARDS L3, L4).

Rules: nobody who may not connect can do so at any instant; what answers is never taken away; what is no socket is
never touched. The lock on the state directory is taken before, so two daemons never race here.
"""

import errno
import grp
import os
import socket
import stat
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from postroom.ports.errors import AlreadyRunning, ConfigError, SettingProblem


_BACKLOG: Final = 1024  # a burst of clients waits in the kernel; the kernel cuts it to somaxconn
_PRIVATE: Final = 0o600
_OTHERS_WRITE: Final = 0o022
_UCRED: Final = struct.Struct("3i")  # pid, uid, gid
_SO_PEERGROUPS: Final = 59  # asm-generic/socket.h; Python has no name for it
_MOST_GROUPS: Final = 4 * 256  # bytes: Python asks for no more
_OVERFLOW: Final = 65_534  # how a user of another user namespace looks, user_namespaces(7)


@dataclass(frozen=True, slots=True)
class Peer:
    """Who connected, as of connect(2).

    `groups` has the supplementary ones too, but for users with more than 256. The pid is a hint for logs and nothing
    more: it may be another's by now.
    """

    uid: int
    groups: frozenset[int]
    pid: int


@dataclass(frozen=True, slots=True)
class OwnSocket:
    """A listening socket that we bound, and the file that it made."""

    socket: socket.socket
    path: Path
    inode: tuple[int, int]

    def remove(self) -> None:
        """Close it, and unlink the file if it is still the one that we made."""
        self.socket.close()
        try:
            if _inode(os.lstat(self.path)) == self.inode:
                self.path.unlink()
        except FileNotFoundError:
            return


def bind_own_socket(path: Path, mode: int, group: str | None) -> OwnSocket:
    """A listening socket at `path` for its owner and `group`.

    Raises: ConfigError when the folder, the group or what lies at `path` will not do; AlreadyRunning when somebody
    answers there.
    """
    _check_folder(path)
    _clear(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        # The file is made with the mode of the descriptor: private until its group is the right one.
        os.fchmod(listener.fileno(), _PRIVATE)
        listener.bind(os.fspath(path))
        made = os.lstat(path)
        if group is not None:
            os.chown(path, -1, grp.getgrnam(group).gr_gid, follow_symlinks=False)
        path.chmod(mode)
        listener.listen(_BACKLOG)
        listener.settimeout(0)
    except (OSError, KeyError) as error:
        listener.close()
        why = error.strerror if isinstance(error, OSError) else f"there is no group '{group}'"
        raise _refusal(
            path, f"can not be bound: {why}.", "Check [api] socket and group."
        ) from error
    return OwnSocket(listener, path, _inode(made))


def bind_loopback(host: str, port: int) -> socket.socket:
    """A listening socket for the metrics.

    Raises: AlreadyRunning when another program listens there; ConfigError when nobody can.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            message = f"{host} port {port}: another program listens there."
            raise AlreadyRunning(message) from error
        wrong = f"can not be listened on: {error.strerror}."
        problem = SettingProblem("[metrics]", "listen", wrong, "Name another address of loopback.")
        raise ConfigError(problem) from error


def find_peer(connection: socket.socket) -> Peer | None:
    """Who is at the other end; None where that can not be told (no Unix socket, another user namespace)."""
    try:
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
        pid, uid, gid = _UCRED.unpack(raw)
        groups = _peer_groups(connection)
    except (OSError, struct.error):
        return None
    if uid in {_OVERFLOW, -1}:
        return None
    return Peer(uid, groups | {gid}, pid)


def _peer_groups(connection: socket.socket) -> frozenset[int]:
    try:
        raw = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, _MOST_GROUPS)
    except OSError as error:
        if error.errno != errno.ERANGE:
            raise
        return frozenset()
    return frozenset(struct.unpack(f"{len(raw) // 4}I", raw))


def _check_folder(path: Path) -> None:
    folder = path.parent
    try:
        held = folder.stat()
    except OSError as error:
        wrong = f"its folder can not be used: {error.strerror}."
        raise _refusal(path, wrong, "Make it, for the daemon's user (tmpfiles.d).") from error
    if held.st_uid not in {os.geteuid(), 0}:
        raise _refusal(path, "its folder belongs to another user.", "Give it to the daemon's user.")
    if held.st_mode & _OTHERS_WRITE:
        wrong = "others may write to its folder, and put a socket of theirs in its place."
        raise _refusal(path, wrong, "chmod go-w the folder, or use one of its own.")


def _clear(path: Path) -> None:
    try:
        held = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(held.st_mode):
        raise _refusal(path, "there is something else than a socket.", "Move it away.")
    if _is_answered(path):
        message = f"{path}: another program answers there."
        raise AlreadyRunning(message)
    path.unlink(missing_ok=True)


def _is_answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as probe:
        probe.settimeout(0)
        # Only a refusal says that nobody listens; a full backlog (EAGAIN) or no right to ask does not.
        return probe.connect_ex(os.fspath(path)) not in {errno.ECONNREFUSED, errno.ENOENT}


def _inode(held: os.stat_result) -> tuple[int, int]:
    return held.st_dev, held.st_ino


def _refusal(path: Path, wrong: str, fix: str) -> ConfigError:
    return ConfigError(SettingProblem(str(path), "", wrong, fix))
