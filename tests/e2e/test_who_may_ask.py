"""Who calls is known by the kernel's word, also where daemon and caller live in different containers."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom.selftest.nursery import Nursery
from support.house import house_in
from support.nursery import COMMAND
from support.peers import needs_peer, needs_root


STRANGER = 65_533
ROOT_ALONE = ("unshare", "--user", "--map-root-user")  # a container in which only root has a name


@pytest.fixture
def contained() -> Iterator[Nursery]:
    needs_root()
    needs_peer("curl")
    needs_peer("unshare")
    if subprocess.run([*ROOT_ALONE, "true"], check=False, capture_output=True).returncode:
        pytest.skip("the kernel gives nobody here a namespace of users")
    made = Nursery((*ROOT_ALONE, *COMMAND))
    yield made
    made.close()


def let_everybody_to(socket: Path) -> None:
    socket.parent.chmod(0o755)
    socket.chmod(0o666)


def status_for(socket: Path, **who: Any) -> bytes:
    """What a caller is answered."""
    words = ["curl", "-s", "-m", "10", "-o", "/dev/null", "-w", "%{http_code}"]
    url = ["--unix-socket", str(socket), "http://localhost/v1/jobs"]
    return subprocess.run([*words, *url], capture_output=True, check=False, **who).stdout


async def test_a_caller_whom_the_daemons_container_can_not_name_is_refused_and_told_of(
    contained: Nursery,
) -> None:
    with tempfile.TemporaryDirectory(prefix="pr-") as name:
        folder, socket = Path(name), Path(name) / "api.sock"
        async with house_in(folder, 1, contained) as house:
            await house.start()
            let_everybody_to(socket)
            assert status_for(socket) == b"200"
            assert status_for(socket, user=STRANGER, group=STRANGER, extra_groups=[]) == b"403"
            assert house.log.count('"peer.refused"') == 1
