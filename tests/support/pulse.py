"""Asks a daemon whether it is alive, again and again, from a process of its own: what a test does meanwhile slows nothing.

`python -m support.pulse SOCKET` asks until its input ends, and prints {"asked": N, "slowest_s": S}.
"""

import asyncio
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path


ASKED = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
PAUSE_S = 0.02


@dataclass
class Pulse:
    """How slow the daemon answered at worst."""

    asked: int = 0
    slowest_s: float = 0.0


@asynccontextmanager
async def pulse_of(path: Path) -> AsyncIterator[Pulse]:
    """Filled in at the end of the block."""
    pulse = Pulse()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "support.pulse", str(path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    try:
        yield pulse
        async with asyncio.timeout(20):
            printed, _ = await process.communicate(b"")
        told = json.loads(printed)
        pulse.asked, pulse.slowest_s = told["asked"], told["slowest_s"]
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _ask(path: str) -> float:
    began = time.monotonic()  # noqa: TID251 - a process of its own, and no part of the product
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(15)
        sock.connect(path)
        sock.sendall(ASKED)
        answer = b""
        while piece := sock.recv(65_536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 200"), answer
    return time.monotonic() - began  # noqa: TID251


def main() -> None:
    """Ask until the input ends."""
    asked, slowest = 0, 0.0
    while not select.select([sys.stdin], [], [], PAUSE_S)[0]:
        slowest = max(slowest, _ask(sys.argv[1]))
        asked += 1
    sys.stdout.write(json.dumps({"asked": asked, "slowest_s": slowest}))


if __name__ == "__main__":
    main()
