"""A daemon that judges senders by DNS on loopback: one domain that signs, and mail of a person there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from postroom.selftest.nursery import Nursery
from support.house import House, house_in
from support.inward import SUPPORT, free_port, mail
from support.nameserver import NameServer, name_server
from support.relay import ScriptedRelay
from support.signing import make_key
from support.zone import Zone


ALICE = "alice@good.example"
MAILBOX = """\
reply_address = "support-r-{{token}}@reply.example.com"
return_path = "support-b-{{token}}@reply.example.com"
{wanted}
[listener]
hostname = "mx.example.com"
listen = ["127.0.0.1:{port}"]
domains = ["example.com", "reply.example.com"]
postmaster = "support"
resolvers = ["127.0.0.1:{dns}"]
{listener}
"""


def zone() -> Zone:
    """A domain that signs, permits one address, and asks for others to be refused."""
    return Zone(
        {
            "good.example TXT": ["v=spf1 ip4:192.0.2.1 -all"],
            "_dmarc.good.example TXT": ["v=DMARC1; p=reject"],
            "s1._domainkey.good.example TXT": [make_key(1024).record],
        }
    )


@asynccontextmanager
async def office(
    tmp_path: Path, nursery: Nursery, wanted: str = "", listener: str = ""
) -> AsyncIterator[tuple[House, ScriptedRelay, NameServer, int]]:
    port = free_port()
    async with ScriptedRelay() as relay, name_server(zone()) as names:
        more = MAILBOX.format(port=port, dns=names.port, wanted=wanted, listener=listener)
        async with house_in(tmp_path, relay.port, nursery, more=more) as house:
            await house.start()
            yield house, relay, names, port


def letter(text: str, to: str = SUPPORT, **head: str) -> bytes:
    fields = {"From": f"Alice <{ALICE}>", "To": to, "Subject": "Hello", **head}
    return mail(text, **fields, Date="Mon, 30 Nov 2026 07:00:00 +0000")
