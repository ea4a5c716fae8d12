from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli_daemon import teach
from support.fake_daemon import FakeDaemon, fake_daemon


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(tmp_path) as running:
        teach(running)
        monkeypatch.setenv("POSTROOM_SOCKET", str(running.socket))
        yield running
