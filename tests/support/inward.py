"""Mail for the listener of a daemon under test, and the settings with which it listens.

port = free_port()
async with house_in(tmp_path, relay.port, nursery, more=listening_at(port)) as house:
    ...
    told = await mail_to(port, answer_to(relay.transactions[0], "Yes."), reply_to(relay.transactions[0]))
    assert told.startswith("250")
"""

import asyncio
import email
import email.policy
import os
import re
import socket
from contextlib import suppress
from email.message import EmailMessage
from typing import Any

from support.house import House
from support.listening import Client
from support.names import nameless
from support.relay_script import Transaction


ALICE = "alice@customer.example"
SUPPORT = "support@example.com"
TEMPLATES = """\
reply_address = "support-r-{token}@reply.example.com"
return_path = "support-b-{token}@reply.example.com"
accept_new = "all"
"""
LISTENER = """
[listener]
hostname = "mx.example.com"
listen = ["127.0.0.1:{port}"]
domains = ["example.com", "reply.example.com"]
postmaster = "support"
"""
LISTENER += f'resolvers = ["127.0.0.1:{nameless()}"]\n'


def listening_at(port: int) -> str:
    """What follows the settings of a mailbox: its addresses with tokens, and the listener."""
    return TEMPLATES + LISTENER.format(port=port)


def free_port() -> int:
    """A port that nobody had a moment ago, of those that the kernel gives to no connection: the settings want a number."""
    while True:
        port = 15_000 + int.from_bytes(os.urandom(2), "big") % 17_000
        with socket.socket() as sock, suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port


def parsed(sent: Transaction) -> EmailMessage:
    """What the relay got, its header read."""
    found = email.message_from_bytes(sent.content or b"", policy=email.policy.SMTP)
    assert isinstance(found, EmailMessage)
    return found


def reply_to(sent: Transaction) -> str:
    """The signed address that answers go to."""
    return str(parsed(sent)["Reply-To"].addresses[0].addr_spec)


def answer_to(
    sent: Transaction, text: str, *, to: str = "", sender: str = ALICE, has_ids: bool = True
) -> bytes:
    """A person's reply to what the relay got; without ids only its address says what it answers."""
    subject = f"Re: {parsed(sent)['Subject']}"
    head = {"From": sender, "To": to or reply_to(sent), "Subject": subject}
    if has_ids:
        head["In-Reply-To"] = head["References"] = str(parsed(sent)["Message-ID"])
    return mail(text, **head)


def mail(text: str, **head: str) -> bytes:
    """A small mail; its Message-ID follows from what it says."""
    number = abs(hash((text, *head.values())))
    canary = {"Comments": "canary-in-a-header"}  # support.heard looks for it
    fields = {"Message-ID": f"<{number}@customer.example>", **canary, **head}
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", text, ""]).encode()


async def mail_to(port: int, content: bytes, *to: str, sender: str = ALICE) -> str:
    """Hand a mail in: the first refusal, or the reply to the final dot; '' = the server hung up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    async with Client(reader, writer) as client:
        await client.hear()
        lines = ["EHLO mx.customer.example", f"MAIL FROM:<{sender}>"]
        for line in (*lines, *(f"RCPT TO:<{one}>" for one in to), "DATA"):
            told = await client.say(line)
            if told[:1] not in ("2", "3"):
                return told
        end = b".\r\n" if content.endswith(b"\r\n") else b"\r\n.\r\n"
        await client.send(re.sub(rb"(?m)^\.", b"..", content) + end)
        return await client.hear()


async def find_events(house: House, after: int = 0) -> list[dict[str, Any]]:
    """The events of what came in, in the order of the log."""
    found: list[dict[str, Any]] = []
    while True:
        status, page = await house.ask("GET", f"/events?after={after}&limit=100")
        assert status == 200, page
        found += [one for one in page["items"] if "envelope" in one]
        if page["next_cursor"] is None:
            return found
        after = int(page["next_cursor"])


async def came_in(house: House, count: int = 1, timeout_s: float = 10) -> list[dict[str, Any]]:
    """The same once it is so many."""
    found: list[dict[str, Any]] = []

    async def look() -> bool:
        found[:] = await find_events(house)
        return len(found) >= count

    await house.until(look, timeout_s)
    return found
