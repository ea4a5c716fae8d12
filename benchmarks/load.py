"""The generator for our side: connections that are kept, each with one request on its way at a time."""

import asyncio
import json
import time
from dataclasses import dataclass
from statistics import median

import uvloop


TEXT = ("All work and no play makes a dull message. " * 48)[
    :1800
] + "\n"  # some 2 KiB with its head


def job(number, priority="standard", recipient=None):
    """A job to one recipient, under a key of its own."""
    return {
        "mailbox_id": "bench",
        "to": [recipient or f"someone-{number}@d{number % 50}.agent.test"],
        "subject": f"Message {number}",
        "text": TEXT,
        "priority": priority,
        "idempotency_key": f"{time.monotonic_ns()}-{number}",
    }


@dataclass
class Load:
    """What came of it: jobs a second, and what each request took in seconds, the fastest first."""

    rate: float
    took_s: list[float]

    @property
    def p50_s(self):
        return median(self.took_s)

    @property
    def p99_s(self):
        return self.took_s[len(self.took_s) * 99 // 100]


class Connection(asyncio.Protocol):
    """Enough of HTTP/1.1 to ask and to know when the answer is whole."""

    def connection_made(self, transport):
        self.transport = transport
        self.buffer = b""
        self.answer = None

    def ask(self, request):
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self.answer

    def data_received(self, data):
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) >= length:
            self.buffer = b""
            self.answer.set_result((int(head[9:12]), body))


def requests_of(count, per_request):
    """The bytes of all requests, made beforehand: the generator has nothing else to do while it is timed."""
    for start in range(0, count, per_request):
        jobs = [job(number) for number in range(start, min(start + per_request, count))]
        path, value = (
            ("/v1/jobs", jobs[0]) if per_request == 1 else ("/v1/jobs/batch", {"jobs": jobs})
        )
        body = json.dumps(value).encode()
        yield b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (
            path.encode(),
            len(body),
            body,
        )


async def _submit(socket, requests, count, connections):
    loop = asyncio.get_running_loop()
    took = []

    async def one():
        _, wire = await loop.create_unix_connection(Connection, socket)
        while requests:
            asked_at = time.monotonic()
            status, body = await wire.ask(requests.pop())
            took.append(time.monotonic() - asked_at)
            if status not in {200, 202}:
                raise RuntimeError(body)
        wire.transport.close()

    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for _ in range(connections):
            group.create_task(one())
    return Load(count / (time.monotonic() - began), sorted(took))


def submit(socket, count, connections, per_request=1):
    """Hand over `count` jobs, `per_request` in each request, over so many connections at once."""
    requests = list(requests_of(count, per_request))
    return uvloop.run(_submit(socket, requests, count, connections))
