"""Mail of our own put before the verifier, with DNS from a zone."""

from dataclasses import replace
from pathlib import Path

from postroom.core.authentication import Authentication
from postroom.inbound.defects import Defect
from postroom.inbound.head import read_head
from postroom.inbound.people import read_addresses
from postroom.inbound.verify.authresults import Servers
from postroom.inbound.verify.verifier import MailVerifier
from postroom.ports.resolving import Resolver
from postroom.ports.verifying import Question
from support.clock import FakeClock
from support.zone import FakeResolver, Zone


SERVERS = Servers(own=frozenset({"mx.ours.example"}), trusted=frozenset({"mx.provider.example"}))

MAIL = (
    b"From: Alice <alice@good.example>\r\n"
    b"To: box@ours.example\r\n"
    b"Subject: Friday\r\n"
    b"Date: Mon, 1 Dec 2025 07:00:00 +0000\r\n"
    b"Message-ID: <1@good.example>\r\n"
    b"\r\n"
    b"See you  at ten.\r\n"
    b"\r\n"
)


def question(raw: bytes | Path, **changes: object) -> Question:
    """The question as intake asks it: one address in From and those in Reply-To are read out of the header."""
    content = raw if isinstance(raw, bytes) else raw.read_bytes()
    head, _ = read_head(content)
    defects: set[Defect] = set()
    authors = read_addresses(head.every("from"), defects)
    asked = Question(
        raw=raw,
        client_ip="192.0.2.1",
        helo="mail.elsewhere.example",
        envelope_sender="",
        is_trusted=False,
        from_address=authors[0] if len(authors) == 1 else None,
        reply_to=read_addresses(head.every("reply-to"), defects),
    )
    return replace(asked, **changes)


async def judge_mail(
    raw: bytes | Path, zone: Zone | Resolver, *, budget_s: float = 10.0, **changes: object
) -> Authentication:
    resolver = FakeResolver(zone) if isinstance(zone, Zone) else zone
    verifier = MailVerifier(resolver, FakeClock(), SERVERS, budget_s)
    try:
        return await verifier.verify(question(raw, **changes))
    finally:
        verifier.close()
