"""A post whose mail can be answered, and the office that brings the answers."""

import email
import email.policy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from postroom.core.inaddress import AddressBook, Ours
from postroom.core.token import TokenKind, make_key
from postroom.ops.tokenkeys import KeyRing
from postroom.ports.submitting import Submitted
from support.arrivals import ALICE, PostOffice, in_mail, token_of
from support.post import ARTICLE, Post, open_post, settings
from support.relay import ScriptedRelay


KEY = make_key(b"k" * 32)
RING = KeyRing((KEY,), frozenset())


class House:
    """A post whose mailbox has addresses that answers come back to, and the office that brings them."""

    def __init__(self, post: Post, relay: ScriptedRelay) -> None:
        self.post = post
        self.relay = relay
        self.office = PostOffice(post.outbox)
        self.book = AddressBook(post.settings.mailboxes, (), None, (KEY,))

    def message(self, number: int) -> EmailMessage:
        """The message of a transaction, as the standard library reads it."""
        content = self.relay.transactions[number].content
        assert content is not None
        found = email.message_from_bytes(content, policy=email.policy.SMTP)
        assert isinstance(found, EmailMessage)
        return found

    def token(self, address: str) -> tuple[TokenKind, int]:
        """What an address of ours proves."""
        found = self.book.find(address, self.post.clock.now())
        assert isinstance(found, Ours)
        assert found.token is not None
        return found.token.kind, found.token.number

    async def sent(self, **fields: Any) -> Submitted:
        """A job that is out."""
        made = await self.post.hand_in(**{"to": [ALICE], **fields})
        assert isinstance(made, Submitted), made
        await self.post.quiet()
        return made

    async def replied(self, number: int = 1, **more: Any) -> dict[str, Any]:
        """Alice's mail to the delivery's reply address, as an event."""
        at = self.post.clock.now()
        mail = in_mail(
            **{"message_id": "<9@customer.example>", "subject": "AW: Your report", **more}
        )
        return await self.office.published(mail, token_of(number), at=at)


@asynccontextmanager
async def open_house(
    tmp_path: Path, mailbox: str = ARTICLE, **addresses: Any
) -> AsyncIterator[House]:
    given = {
        "reply_address": "r-{token}@reply.example.com",
        "return_path": "b-{token}@reply.example.com",
        **addresses,
    }
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox=mailbox)
        boxes = {id_: replace(box, **given) for id_, box in said.mailboxes.items()}
        async with open_post(replace(said, mailboxes=boxes), ring=RING) as post:
            yield House(post, relay)
