"""The nameserver of selftest and demo, asked by a library that knows DNS."""

from collections.abc import Iterator

import dns.message
import dns.query
import dns.rcode
import pytest

from postroom.selftest.names import HOST, Names


TEXTS = {
    "one.example": "v=spf1 -all",
    "_dmarc.one.example": "v=DMARC1; p=reject",
    "long.example": "x" * 300,
}


@pytest.fixture
def names() -> Iterator[Names]:
    running = Names(TEXTS)
    running.start()
    yield running
    running.stop()


@pytest.mark.parametrize(
    ("name", "kind", "code", "texts"),
    [
        ("one.example", "TXT", dns.rcode.NOERROR, ['"v=spf1 -all"']),
        ("ONE.example", "TXT", dns.rcode.NOERROR, ['"v=spf1 -all"']),
        ("_dmarc.one.example", "TXT", dns.rcode.NOERROR, ['"v=DMARC1; p=reject"']),
        ("long.example", "TXT", dns.rcode.NOERROR, [f'"{"x" * 255}" "{"x" * 45}"']),
        ("one.example", "A", dns.rcode.NOERROR, []),
        ("two.example", "TXT", dns.rcode.NXDOMAIN, []),
    ],
)
def test_it_knows_the_texts_that_it_was_given_and_nothing_else(
    name: str, kind: str, code: dns.rcode.Rcode, texts: list[str], names: Names
) -> None:
    asked = dns.message.make_query(name, kind, use_edns=0)
    said = dns.query.udp(asked, HOST, timeout=5, port=names.port)
    assert said.rcode() == code
    assert [str(one) for found in said.answer for one in found] == texts
