"""The API against its own description: whatever is asked, no answer is one that is not described.

The same application on a loopback listener, with fakes behind it, asked in another process so that a stuck answer is
seen from outside.
"""

import asyncio
import socket
import sys
from asyncio.subprocess import PIPE, STDOUT
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.api.server import ApiServer
from postroom.core.delivery import DeliveryState
from postroom.ports.leasing import Lease, LeaseWish
from support.api_server import fake_parts
from support.lease_fakes import DEAD, LEASE, FakeLeases
from support.records import delivery, job


CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance,negative_data_rejection,unsupported_method"
)


class Plenty(FakeLeases):
    """There is always something to lease, so no poll waits."""

    async def acquire(self, wish: LeaseWish) -> tuple[Lease, ...]:
        return (LEASE,)


def loopback() -> socket.socket:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(64)
    return listening


@pytest.mark.timeout(90)
async def test_no_request_is_answered_in_a_way_that_is_not_described(tmp_path: Path) -> None:
    faults: list[tuple[str, Exception]] = []
    async with asyncio.TaskGroup() as group:
        parts = replace(fake_parts(group, faults), leases=Plenty(dead=(DEAD,)))
        parts.loop.settle.set()  # type: ignore[attr-defined]
        outbox = parts.reader
        states = {1: DeliveryState.FAILED, 2: DeliveryState.UNCERTAIN, 3: DeliveryState.SENT}
        outbox.jobs.update({n: job(n, delivery(n, state)) for n, state in states.items()})  # type: ignore[attr-defined]
        parts.messages.content[1] = b"Subject: x\r\n\r\nx\r\n"  # type: ignore[attr-defined]
        server = ApiServer(parts)
        listening = loopback()
        host, port = listening.getsockname()
        await server.start([listening])
        try:
            process = await asyncio.create_subprocess_exec(
                str(Path(sys.executable).with_name("schemathesis")),
                "run",
                f"http://{host}:{port}/v1/openapi.json",
                "--exclude-path=/v1/events/stream",  # it never ends
                "--phases=coverage,fuzzing",
                "--max-examples=2",
                f"--checks={CHECKS}",
                "--generation-database=none",
                "--seed=1",
                "--no-color",
                "--request-timeout=5",
                cwd=tmp_path,
                stdout=PIPE,
                stderr=STDOUT,
            )
            said, _ = await process.communicate()
        finally:
            await server.close()
    assert faults == []
    assert process.returncode == 0, said.decode()
