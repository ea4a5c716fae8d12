"""Who calls, as the daemon sees it."""

import os
import socket
from pathlib import Path

from support.post import open_post, settings


async def test_a_caller_without_a_name_is_refused_and_told_of_once(tmp_path: Path) -> None:
    async with open_post(settings(tmp_path, 1)) as post:
        with socket.socket(socket.AF_INET) as nameless:
            assert post.joined.api.principal(nameless) is None
            assert post.joined.api.principal(nameless) is None
        assert post.log.getvalue().count("peer.refused") == 1


async def test_a_caller_is_known_by_its_uid(tmp_path: Path) -> None:
    async with open_post(settings(tmp_path, 1)) as post:
        ours, theirs = socket.socketpair(socket.AF_UNIX)
        with ours, theirs:
            assert post.joined.api.principal(ours) == os.getuid()
        assert "peer.refused" not in post.log.getvalue()
