"""The command line against the API itself: each understands the other."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from postroom.cli.tree import main
from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from support.api_server import Api, running
from support.records import delivery, job


JOB = encode_id(Kind.JOB, 1)
SENT = encode_id(Kind.DELIVERY, 1)


@pytest.fixture
async def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Api]:
    async with running(tmp_path) as started:
        monkeypatch.setenv("POSTROOM_SOCKET", str(started.path))
        yield started


SEND = "send --mailbox support --to ann@example.com --subject Hi --text x"


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("status", 0),
        (f"status {JOB}", 0),
        ("jobs --mailbox support --since 24h --limit 2", 0),
        (f"show {JOB}", 0),
        (f"show {SENT}", 0),
        (f"show {SENT} --raw", 0),
        ("show job_\udcff", 69),  # as a shell hands over what is no UTF-8
        ("jobs --trace \udcff", 0),
        ("mailboxes pause \udcff", 67),
        ("suppressions remove \udcff@example.com", 69),
        (f"explain {SENT}", 0),
        ("explain", 0),
        ("explain --mailbox support --lane high", 0),
        ("explain --relay main", 0),
        ("explain --mailbox nobody", 67),
        (f"explain {SENT} --lane high", 64),
        (f"cancel {JOB}", 69),
        (f"retry {SENT}", 69),
        (f"resolve {SENT} --as sent", 69),
        ("retry --mailbox support --yes", 0),
        ("cancel --mailbox support --domain example.com --dry-run", 0),
        ("resolve --state uncertain --as resend --yes", 0),
        ("held --mailbox support --hold-reason restored", 0),
        ("held --since 24h", 0),
        ("release --mailbox support --hold-reason restored --yes", 0),
        (f"release {SENT}", 69),
        ("cancel --hold-reason restored --yes", 0),
        ("doctor --confirm-clock", 0),
        ("reload", 0),
        ("reload --dry-run", 0),
        ("dead-letters --since 7d", 0),
        ("events --after 0", 0),
        ("mailboxes", 0),
        ("mailboxes pause support --reason moving", 0),
        ("mailboxes pause support", 0),
        ("mailboxes resume support", 0),
        ("mailboxes resume nobody", 67),
        ("suppressions add gone@example.com --mailbox support --reason asked", 0),
        ("suppressions", 0),
        ("stats", 0),
        (SEND, 0),
        (
            f"{SEND} --cc Bob<bob@example.com> --priority high --send-at 2h --key k --header X-A:1",
            0,
        ),
        (f"{SEND} --attach {__file__}", 0),
        ("show job_nothing", 69),
    ],
    ids=lambda value: value.replace(__file__, "FILE") if isinstance(value, str) else "",
)
async def test_a_verb_is_understood(
    typed: str, code: int, api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = delivery(1, DeliveryState.SENT)
    api.outbox.jobs[1] = job(1, sent)
    api.messages.content[1] = b"Subject: Hi\r\n\r\nText.\r\n"
    assert await asyncio.to_thread(main, typed.split()) == code, capsys.readouterr()
    assert not api.faults
    if "--raw" not in typed:
        capsys.readouterr()
        await asyncio.to_thread(main, [*typed.split(), "--json"])
        out = capsys.readouterr().out
        assert not out or isinstance(json.loads(out), dict)
