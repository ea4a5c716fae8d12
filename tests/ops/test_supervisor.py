"""What systemd is told, and what it hands over."""

import os
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.ops.supervisor import Supervisor, find_supervisor, take_sockets


ROOT = Path(__file__).resolve().parent.parent.parent


def _told(address: str, environ_address: str) -> list[str]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(5)
        supervisor = find_supervisor({"NOTIFY_SOCKET": environ_address})
        supervisor.ready("recovered\n0 rows")
        supervisor.reloading(1_000_001)
        supervisor.status("x" * 1000)
        supervisor.alive()
        supervisor.extend(timedelta(seconds=1.5))
        supervisor.stopping("draining")
        return [manager.recv(4096).decode() for _ in range(6)]


WORDS = [
    "READY=1\nSTATUS=recovered?0 rows",
    "RELOADING=1\nMONOTONIC_USEC=1000001",
    "STATUS=" + "x" * 200,
    "WATCHDOG=1",
    "EXTEND_TIMEOUT_USEC=1500000",
    "STOPPING=1\nSTATUS=draining",
]


def test_systemd_is_told_over_a_socket_in_the_file_system(tmp_path: Path) -> None:
    assert _told(str(tmp_path / "n"), str(tmp_path / "n")) == WORDS


def test_systemd_is_told_over_an_abstract_socket() -> None:
    name = f"postroom-test-{os.getpid()}"
    assert _told(f"\0{name}", f"@{name}") == WORDS


@pytest.mark.parametrize("address", [None, "", "/nowhere/notify", "vsock:2:1234", "@"], ids=str)
def test_without_systemd_nothing_happens(address: str | None) -> None:
    supervisor = find_supervisor({} if address is None else {"NOTIFY_SOCKET": address})
    supervisor.ready("up")
    supervisor.alive()


@pytest.mark.parametrize(
    ("environ", "due"),
    [
        ({"WATCHDOG_USEC": "30000000"}, timedelta(seconds=30)),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, timedelta(seconds=30)),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
    ids=["due", "ours", "another's", "off", "nonsense", "none"],
)
def test_a_sign_of_life_is_due_when_it_is_ours_to_give(
    environ: dict[str, str], due: timedelta | None
) -> None:
    found = find_supervisor({"NOTIFY_SOCKET": "/nowhere", **environ})
    assert found == Supervisor("/nowhere", due)


_HANDED = """
import os, sys
from postroom.ops.supervisor import take_sockets
os.environ["LISTEN_PID"] = str(os.getpid()) if sys.argv[1] == "ours" else "1"
given = take_sockets(os.environ)
for name, sockets in given.items():
    for one in sockets:
        print(name, one.getsockname(), one.gettimeout(), os.get_inheritable(one.fileno()))
print("again", take_sockets(os.environ), [k for k in os.environ if k.startswith("LISTEN_")])
"""


def _handed(tmp_path: Path, whose: str, **environ: str) -> list[str]:
    """A child with two listening sockets as its descriptors 3 and 4."""
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
        for listener, name in ((one, "a"), (two, "b")):
            listener.bind(str(tmp_path / name))
            listener.listen()

        def place() -> None:
            first, second = os.dup(one.fileno()), os.dup(two.fileno())
            os.dup2(first, 3)
            os.dup2(second, 4)

        done = subprocess.run(
            [sys.executable, "-c", _HANDED, whose],
            env={"PYTHONPATH": str(ROOT / "daemon"), **environ},
            preexec_fn=place,
            close_fds=False,
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    return done.stdout.splitlines()


def test_sockets_are_taken_by_their_names_and_only_once(tmp_path: Path) -> None:
    lines = _handed(tmp_path, "ours", LISTEN_FDS="2", LISTEN_FDNAMES="api:api")
    assert lines == [
        f"api {tmp_path}/a 0.0 False",
        f"api {tmp_path}/b 0.0 False",
        "again {} []",
    ]


def test_a_socket_without_a_name_is_unknown(tmp_path: Path) -> None:
    lines = _handed(tmp_path, "ours", LISTEN_FDS="2", LISTEN_FDNAMES="api")
    assert [line.split()[0] for line in lines] == ["api", "unknown", "again"]


def test_sockets_of_another_process_are_left_alone(tmp_path: Path) -> None:
    assert _handed(tmp_path, "theirs", LISTEN_FDS="2") == ["again {} []"]


@pytest.mark.parametrize("count", ["", "x", "-1", "65"])
def test_a_count_that_can_not_be_is_none(count: str) -> None:
    assert take_sockets({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": count}) == {}
