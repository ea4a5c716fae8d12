"""A DNS server on loopback, UDP and TCP on one port, that answers from a zone and counts what it was asked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

from postroom.ports.resolving import Found, Kind, Lookup, Nothing
from support.clock import breathe
from support.zone import Zone


class NameServer(asyncio.DatagramProtocol):
    """`packets` and `connections` are the names asked for over UDP and TCP, in their order."""

    def __init__(self, zone: Zone) -> None:
        self.zone = zone
        self.port = 0
        self.packets: list[str] = []
        self.connections: list[str] = []
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        name = _name(query)
        self.packets.append(name)
        answer = self._answer(query)
        if answer is None or self._transport is None:
            return
        if name in self.zone.large:
            answer.answer.clear()
            answer.flags |= dns.flags.TC
        self._transport.sendto(answer.to_wire(), addr)

    async def serve_tcp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(await reader.readexactly(2))
        query = dns.message.from_wire(await reader.readexactly(size))
        self.connections.append(_name(query))
        answer = self._answer(query)
        if answer is not None:
            wire = answer.to_wire()
            writer.write(len(wire).to_bytes(2) + wire)
            await writer.drain()
        writer.close()

    def _answer(self, query: dns.message.Message) -> dns.message.Message | None:
        name, kind = _name(query), dns.rdatatype.to_text(query.question[0].rdtype)
        if name in self.zone.silent:
            return None
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        if name in self.zone.failing:
            answer.set_rcode(dns.rcode.SERVFAIL)
            return answer
        match self.zone.find(Lookup(Kind(kind), name)):
            case Found():
                texts = [_written(kind, one) for one in self.zone.records[f"{name} {kind}"]]
                owner = query.question[0].name
                answer.answer.append(dns.rrset.from_text(owner, self.zone.ttl, "IN", kind, *texts))
            case Nothing(is_name_missing=True):
                answer.set_rcode(dns.rcode.NXDOMAIN)
            case _:
                pass
        return answer


@asynccontextmanager
async def name_server(zone: Zone) -> AsyncIterator[NameServer]:
    server, transport, tcp = await _listen(zone)
    try:
        yield server
    finally:
        transport.close()
        tcp.close()
        await tcp.wait_closed()
        await breathe()  # a transport lets go of its socket a turn after it is closed


async def _listen(zone: Zone) -> tuple[NameServer, asyncio.DatagramTransport, asyncio.Server]:
    """A port for both: the kernel chooses one for UDP, and somebody else may have it for TCP."""
    loop = asyncio.get_running_loop()
    while True:
        server = NameServer(zone)
        transport, _ = await loop.create_datagram_endpoint(
            lambda server=server: server, local_addr=("127.0.0.1", 0)
        )
        server.port = transport.get_extra_info("sockname")[1]
        try:
            tcp = await asyncio.start_server(server.serve_tcp, "127.0.0.1", server.port)
        except OSError:
            transport.close()
            continue
        return server, transport, tcp


def _name(query: dns.message.Message) -> str:
    return query.question[0].name.to_text(omit_final_dot=True).lower()


def _written(kind: str, text: str) -> str:
    """The record as a zone file has it: a text in strings of at most 255 octets."""
    if kind == "TXT":
        escaped = [f"\\{ord(one):03d}" for one in text]
        pieces = ["".join(escaped[at : at + 255]) for at in range(0, len(escaped), 255)]
        return " ".join(f'"{one}"' for one in pieces)
    return text if kind in {"A", "AAAA"} else f"{text}."
