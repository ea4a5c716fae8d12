"""What is asked of a daemon that ends just now: nothing begins any more, and nobody is told what is not known."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from postroom.api.tasks import Kept
from support.api_server import running
from support.api_submitter import FakeSubmitter


JOB = {"mailbox_id": "support", "to": ["a@example.com"], "subject": "s", "text": "t"}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "a job": ("/jobs", {"body": JOB}),
    "a batch": ("/jobs/batch", {"body": {"jobs": [JOB]}}),
    "leases": ("/leases", {"body": {"consumer": "c"}}),
    "an acknowledgement": (
        "/leases/lse_0000000000001/complete",
        {"body": {"fence": 1, "ack": "all"}},
    ),
}


@pytest.mark.parametrize("call", CALLS)
async def test_a_daemon_that_ends_begins_nothing_more_and_says_so(
    call: str, tmp_path: Path
) -> None:
    path, more = CALLS[call]
    async with asyncio.TaskGroup() as group:
        pass
    async with running(tmp_path, kept=Kept(group)) as api:
        said = await api.post(path, **more)
        assert (said.status, said.code) == (503, "store_unavailable")
        assert said.json["retryable"]
        assert api.submitter.seen == []
        assert [name for name, _ in api.faults] == ["store"]


class _Stuck(FakeSubmitter):
    """Takes a job and never comes to an end with it."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def submit(self, *_: Any, **__: Any) -> Any:
        self.asked.set()
        await asyncio.get_running_loop().create_future()


async def test_who_waits_for_what_is_cut_off_is_hung_up_on_at_once(tmp_path: Path) -> None:
    stuck, group = _Stuck(), asyncio.TaskGroup()
    async with (
        group,
        running(tmp_path, kept=Kept(group), submitter=stuck) as api,
        api.raw() as (reader, writer),
    ):
        body = json.dumps(JOB).encode()
        writer.write(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body))
        writer.write(body)
        await stuck.asked.wait()
        group._abort()
        async with asyncio.timeout(5):
            assert await reader.read() == b""
