"""The machine that doctor looks at, and the relay that it dials."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.cli.demo_relay import Relay
from postroom.service.doctor import Patient, Running
from postroom.store.sqlite import version as version_module
from support.store_host import NOON, outbox_in
from support.ward import Ward, note_backup, settings_in


@pytest.fixture(scope="module")
def relay() -> Iterator[Relay]:
    started = Relay()
    started.start()
    yield started
    started.stop()


@pytest.fixture
async def ward(tmp_path: Path, relay: Relay, monkeypatch: pytest.MonkeyPatch) -> Ward:
    monkeypatch.setattr(version_module, "_WAL_RESET_MENDED", (3, 0, 0))
    config = settings_in(tmp_path, relay.port)
    async with outbox_in(tmp_path):
        pass
    note_backup(tmp_path, NOON)
    running = Running(
        "1.2.3",
        is_ready=True,
        is_clock_doubted=False,
        ask=lambda mailbox_id: [("dns", "ok", "fine", "")],
    )
    return Ward(tmp_path, Patient(config, tmp_path / "run" / "api.sock", running, NOON, {}))
