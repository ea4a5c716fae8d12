"""A client of a small daemon that says what the test wants."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.client import Client
from support.fake_daemon import FakeDaemon, fake_daemon
from support.fake_host import FakeHost


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[FakeDaemon]:
    with fake_daemon(tmp_path) as running:
        yield running


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


@pytest.fixture
def client(daemon: FakeDaemon, host: FakeHost) -> Client:
    return Client(str(daemon.socket), retry_s=10, host=host)
