"""A name server on loopback that knows what a test tells it."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset


Zone = Mapping[tuple[str, str], tuple[str, ...]]
"""Records by name and kind; a name of which there is none is none."""


@contextmanager
def nameserver(zone: Zone) -> Iterator[tuple[str, int]]:
    """One that answers: its address and port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=_serve, args=(listening, zone), daemon=True)
        thread.start()
        host, port = listening.getsockname()
        try:
            yield host, port
        finally:
            _end(port)
            thread.join(5)


def _serve(listening: socket.socket, zone: Zone) -> None:
    while True:
        wire, peer = listening.recvfrom(4096)
        if wire == b"end":
            return
        asked = dns.message.from_wire(wire)
        listening.sendto(_answer(asked, zone).to_wire(), peer)


def _answer(asked: dns.message.Message, zone: Zone) -> dns.message.Message:
    answer = dns.message.make_response(asked)
    answer.flags |= dns.flags.RA
    (question,) = asked.question
    name, kind = question.name.to_text(omit_final_dot=True), dns.rdatatype.to_text(question.rdtype)
    if name not in {known for known, _ in zone}:
        answer.set_rcode(dns.rcode.NXDOMAIN)
    values = zone.get((name, kind), ())
    if values == ("SERVFAIL",):
        answer.set_rcode(dns.rcode.SERVFAIL)
    elif values:
        answer.answer.append(dns.rrset.from_text(question.name, 60, "IN", kind, *values))
    return answer


def _end(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ending:
        ending.sendto(b"end", ("127.0.0.1", port))
