"""Programs of others that some tests talk to: left out where they are not installed, unless they must be there."""

import os
import shutil
import subprocess
from functools import cache

import pytest


# What runs a command with mounts of its own.
APART = ("unshare", "--mount", "--propagation", "private")


def needs_peer(name: str) -> str:
    """The path of a program; without it the test is skipped, or fails with POSTROOM_REQUIRE_PEERS=1."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None and os.environ.get("POSTROOM_REQUIRE_PEERS") != "1":
        pytest.skip(f"{name} is not installed (POSTROOM_REQUIRE_PEERS=1 makes this a failure)")
    assert found is not None, f"{name} is required (POSTROOM_REQUIRE_PEERS=1)"
    return found


def needs_root() -> None:
    """The same for what only root may do."""
    if os.geteuid() != 0:
        assert os.environ.get("POSTROOM_REQUIRE_PEERS") != "1", "root is required"
        pytest.skip("only root may start this peer")


def needs_own_mounts() -> None:
    """Skip where the kernel, or what this machine runs in, gives nobody mounts of their own."""
    needs_root()
    needs_peer("unshare")
    if not _may_mount():
        pytest.skip("the kernel gives nobody here mounts of their own")


@cache
def _may_mount() -> bool:
    return subprocess.run([*APART, "true"], check=False, capture_output=True).returncode == 0
