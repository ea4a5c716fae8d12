"""Our own Unix socket: who may connect, what is never taken away, and who is at the other end."""

import grp
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.ops.sockets import bind_own_socket, find_peer
from postroom.ports.errors import AlreadyRunning, ConfigError


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], ids=oct)
def test_the_socket_has_the_mode_that_was_asked_for_whatever_the_umask(
    tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        bound = bind_own_socket(tmp_path / "api.sock", 0o660, None)
    finally:
        os.umask(before)
    assert _mode(bound.path) == 0o660
    bound.remove()


def test_at_no_instant_can_others_connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between bind and the last chmod the file is private, also under an open umask."""
    path = tmp_path / "api.sock"
    seen: list[int] = []
    chmod = Path.chmod
    monkeypatch.setattr(Path, "chmod", lambda p, m: (seen.append(_mode(p)), chmod(p, m))[1])
    before = os.umask(0)
    try:
        bind_own_socket(path, 0o660, None).remove()
    finally:
        os.umask(before)
    assert seen == [0o600]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to any group")
def test_the_socket_belongs_to_its_group(tmp_path: Path) -> None:
    group = grp.getgrall()[-1]
    bound = bind_own_socket(tmp_path / "api.sock", 0o660, group.gr_name)
    assert bound.path.lstat().st_gid == group.gr_gid
    bound.remove()


def test_what_a_dead_daemon_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    bind_own_socket(path, 0o600, None).socket.close()
    assert path.exists()
    bound = bind_own_socket(path, 0o600, None)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    bound.remove()


def test_a_socket_that_answers_is_never_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    bound = bind_own_socket(path, 0o600, None)
    with pytest.raises(AlreadyRunning):
        bind_own_socket(path, 0o600, None)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    bound.remove()


def test_a_socket_that_is_too_busy_to_answer_is_alive(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as waiting:
        busy.bind(str(path))
        busy.listen(0)
        waiting.connect(str(path))
        with pytest.raises(AlreadyRunning):
            bind_own_socket(path, 0o600, None)


@pytest.mark.parametrize("what", ["file", "folder", "link to a socket", "link to nothing"])
def test_what_is_no_socket_is_not_touched(tmp_path: Path, what: str) -> None:
    path = tmp_path / "api.sock"
    match what:
        case "file":
            path.write_text("precious")
        case "folder":
            path.mkdir()
        case "link to a socket":
            bind_own_socket(tmp_path / "other.sock", 0o600, None).socket.close()
            path.symlink_to(tmp_path / "other.sock")
        case _:
            path.symlink_to(tmp_path / "nothing")
    before = path.lstat()
    with pytest.raises(ConfigError, match="something else than a socket"):
        bind_own_socket(path, 0o600, None)
    assert path.lstat() == before


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777], ids=oct)
def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(ConfigError, match="others may write"):
        bind_own_socket(folder / "api.sock", 0o600, None)


def test_a_folder_for_readers_of_a_group_is_right(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(0o2750)
    bind_own_socket(folder / "api.sock", 0o660, None).remove()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, -1)
    with pytest.raises(ConfigError, match="another user"):
        bind_own_socket(tmp_path / "api.sock", 0o600, None)
    os.chown(tmp_path, 0, -1)


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="tmpfiles"):
        bind_own_socket(tmp_path / "run" / "api.sock", 0o600, None)


def test_a_group_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no group 'no-such-group'"):
        bind_own_socket(tmp_path / "api.sock", 0o600, "no-such-group")


def test_at_the_end_only_our_own_file_is_removed(tmp_path: Path) -> None:
    first = bind_own_socket(tmp_path / "api.sock", 0o600, None)
    first.path.unlink()
    second = bind_own_socket(tmp_path / "api.sock", 0o600, None)
    first.remove()
    assert second.path.exists()
    second.remove()
    second.remove()
    assert not second.path.exists()


def test_a_peer_is_known_by_its_user_and_groups() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        peer = find_peer(ours)
    assert peer is not None
    assert (peer.uid, peer.pid) == (os.geteuid(), os.getpid())
    assert peer.groups == set(os.getgroups()) | {os.getegid()}


_CLIENT = """
import os, socket, sys
os.setgroups(range(70000, 70000 + int(sys.argv[2])))
os.setgid(12346)
os.setuid(int(sys.argv[3]))
with socket.socket(socket.AF_UNIX) as s:
    s.connect(sys.argv[1])
    s.recv(1)
"""


def _peer_of(path: Path, groups: int, uid: int) -> tuple[int, int] | None:
    bound = bind_own_socket(path, 0o600, None)
    path.chmod(0o777)
    path.parent.chmod(0o755)
    bound.socket.settimeout(10)
    words = [sys.executable, "-c", _CLIENT, str(path), str(groups), str(uid)]
    with subprocess.Popen(words) as client:
        try:
            connection, _ = bound.socket.accept()
            with connection:
                peer = find_peer(connection)
        finally:
            client.kill()
    bound.remove()
    return None if peer is None else (peer.uid, len(peer.groups))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can reach; pytest's own are private."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize(("groups", "known"), [(0, 1), (3, 4), (256, 257), (257, 1)])
def test_a_peer_is_known_by_its_groups_unless_there_are_too_many(
    open_folder: Path, groups: int, known: int
) -> None:
    assert _peer_of(open_folder / "s", groups, 12345) == (12345, known)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_user_whom_the_kernel_can_not_name_is_nobody(open_folder: Path) -> None:
    assert _peer_of(open_folder / "s", 0, 65534) is None


def test_a_tcp_connection_has_no_peer() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        assert find_peer(client) is None
