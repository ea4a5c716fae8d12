"""What doctor says of the way in: the records that lead mail here, and who listens."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from postroom.service.findings import Verdict
from support.inward import free_port
from support.nameserver import name_server
from support.ward import Ward
from support.zone import Zone


LISTENER = """\
reply_address = "r-{{token}}@reply.example.com"
return_path = "b-{{token}}@reply.example.com"
[listener]
hostname = "mx.example.com"
listen = ["0.0.0.0:{smtp}"]
domains = ["reply.example.com"]
postmaster = "support"
"""
W, F = Verdict.WARN, Verdict.FAIL
RECORDS = {
    "mx.example.com A": ["192.0.2.1"],
    "reply.example.com MX": ["10 mx.example.com"],
    "reply.example.com TXT": ["other", "v=spf1 include:example.net ~all"],
}


def zone(**changes: list[str]) -> Zone:
    """All that mail needs to come here, but for these records (`mx`, `txt`) of the reply domain."""
    changed = {f"reply.example.com {kind.upper()}": told for kind, told in changes.items()}
    return Zone({name: told for name, told in {**RECORDS, **changed}.items() if told})


@contextmanager
def greeter(*lines: bytes) -> Iterator[int]:
    """Something that listens and says these lines, one for each connection or line it gets."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(b"".join(lines))
                while connection.recv(100):
                    pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(5)


GREETING = (b"220 mx\r\n", b"250 mx\r\n")


@pytest.mark.parametrize(
    ("dns", "lines", "wrong"),
    [
        (zone(), GREETING, {}),
        (zone(mx=["10 mail.example.net"]), GREETING, {"dns": F}),
        (zone(mx=[]), GREETING, {"dns": F}),
        (Zone({}), GREETING, {"dns": F}),
        (zone(txt=["other"]), GREETING, {"dns": W}),
        (Zone(RECORDS, failing={"reply.example.com"}), GREETING, {"dns": W}),
        (zone(), (b"HTTP/1.0 400 what\r\n", b"\r\n"), {"listener": F}),
        (zone(), (), {"listener": F}),
    ],
    ids=[
        "all there",
        "another MX",
        "no MX",
        "no such name",
        "no SPF",
        "no answer",
        "no SMTP there",
        "nobody there",
    ],
)
async def test_the_way_in_is_looked_at(
    ward: Ward, dns: Zone, lines: tuple[bytes, ...], wrong: dict[str, Verdict]
) -> None:
    async with name_server(dns) as server:
        with greeter(*lines) as port:
            if not lines:
                socket.create_connection(("127.0.0.1", port)).close()
            smtp = port if lines else free_port()
            with ward.patient.config.open("a") as file:
                file.write(LISTENER.format(smtp=smtp))
            servers = (("127.0.0.1", server.port),)
            worst = await asyncio.to_thread(ward.worst, servers=servers)
    assert {name: one.verdict for name, one in worst.items()} == wrong
    assert all(one.fix for one in worst.values())


async def test_a_listener_of_systemd_is_looked_at_elsewhere(ward: Ward) -> None:
    async with name_server(zone()) as server:
        with ward.patient.config.open("a") as file:
            text = LISTENER.format(smtp=25).replace('listen = ["0.0.0.0:25"]\n', "")
            file.write(text)
        servers = (("127.0.0.1", server.port),)
        assert [*await asyncio.to_thread(ward.worst, servers=servers)] == ["listener"]
