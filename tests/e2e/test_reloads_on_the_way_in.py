"""Settings read again while mail comes in: addresses, domains, keys and certificates follow; where it listens does not."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trustme

from postroom.core.ids import Kind, encode_id
from postroom.ports.reloading import NotReloaded
from support.inward import (
    ALICE,
    LISTENER,
    SUPPORT,
    TEMPLATES,
    answer_to,
    free_port,
    mail,
    mail_to,
    reply_to,
)
from support.listening import Client
from support.office import events
from support.post import ARTICLE, Post, open_post, settings
from support.relay import ScriptedRelay


OTHER = (
    '[[mailbox]]\nid = "other"\naddress = "other@example.com"\nrelay = "main"\naccept_new = "all"\n'
)
KEYS = ("k" * 32, "0123456789abcdef" * 2)


class Office:
    """A daemon that is written to, and the pen that its settings are written with."""

    def __init__(self, folder: Path, relay: ScriptedRelay) -> None:
        self.folder = folder
        self.relay = relay
        self.port = free_port()

    def write(
        self, *, place: str = LISTENER, listener: str = "", more: str = "", mailbox: str = TEMPLATES
    ) -> object:
        text = f"{place.format(port=self.port)}{listener}\n{more}" if listener != "none" else more
        return settings(self.folder, self.relay.port, mailbox=f"{ARTICLE}\n{mailbox}", more=text)


@asynccontextmanager
async def office(folder: Path, **said: str) -> AsyncIterator[tuple[Office, Post]]:
    async with ScriptedRelay() as relay:
        house = Office(folder, relay)
        async with open_post(house.write(**said)) as post:  # type: ignore[arg-type]
            yield house, post


async def test_a_mailbox_that_comes_is_written_to_and_one_that_goes_is_not_any_more(
    tmp_path: Path,
) -> None:
    async with office(tmp_path) as (house, post):
        unknown = await mail_to(house.port, mail("Hello"), "other@example.com")
        assert unknown.startswith("550")
        house.write(more=OTHER)
        await post.reload()
        taken = await mail_to(house.port, mail("Hello"), "other@example.com")
        assert taken.startswith("250")
        (event,) = await events(post, 1)
        assert event["envelope"]["to"] == ["other@example.com"]
        house.write()
        await post.reload()
        unknown = await mail_to(house.port, mail("Again"), "other@example.com")
        assert unknown.startswith("550")


async def test_a_session_that_is_open_knows_the_new_addresses_too(tmp_path: Path) -> None:
    async with office(tmp_path) as (house, post):
        reader, writer = await asyncio.open_connection("127.0.0.1", house.port)
        async with Client(reader, writer) as client:
            await client.hear()
            for line in ("EHLO mx.customer.example", f"MAIL FROM:<{ALICE}>"):
                await client.say(line)
            assert (await client.say("RCPT TO:<other@example.com>")).startswith("550")
            house.write(more=OTHER)
            await post.reload()
            assert (await client.say("RCPT TO:<other@example.com>")).startswith("250")


async def test_our_own_postmaster_is_never_answered_in_a_new_domain_either(
    tmp_path: Path,
) -> None:
    async with office(tmp_path) as (house, post):

        async def faults(number: int, sender: str) -> list[str | None]:
            content = mail(f"Hello {number}", From=sender)
            assert (await mail_to(house.port, content, SUPPORT)).startswith("250")
            await events(post, number)
            asked = {"in_reply_to_event": encode_id(Kind.EVENT, number)}
            found = await post.problems(**asked, to=["ann@one.example"], subject=None)
            return [one.code for one in found]

        assert await faults(1, "postmaster@reply.example.com") == ["reply_target"]
        assert await faults(2, "abuse@new.example") == ["recipient_not_in_thread"]
        place = LISTENER.replace('"example.com",', '"new.example", "example.com",')
        house.write(place=place)
        await post.reload()
        assert await faults(3, "Abuse@New.example") == ["reply_target"]


async def test_what_a_mailbox_accepts_follows(tmp_path: Path) -> None:
    async with office(tmp_path) as (house, post):
        house.write(mailbox=TEMPLATES.replace('"all"', '"none"'))
        await post.reload()
        assert (await mail_to(house.port, mail("Hello"), SUPPORT)).startswith("250")
        (event,) = await events(post, 1)
        assert event["accepted"] is False


async def test_a_new_key_signs_and_the_old_one_is_still_known(tmp_path: Path) -> None:
    for key in KEYS:
        (tmp_path / key[0]).write_text(key)
        (tmp_path / key[0]).chmod(0o600)

    def tokens(*names: str) -> str:
        return f"[tokens]\nkeys = {[f'file:{name}' for name in names]}\n"

    async with office(tmp_path, more=tokens("k")) as (house, post):
        await post.submit(to=[ALICE])
        await post.quiet()
        house.write(more=tokens("0", "k"))
        told = await post.reload()
        assert [(one.path, one.before, one.after) for one in told.changed] == [
            ("tokens.keys", None, None)
        ]
        await post.submit(to=[ALICE])
        await post.quiet()
        first, second = house.relay.transactions
        assert reply_to(first).partition("@")[0][10] != reply_to(second).partition("@")[0][10]
        for sent in (first, second):
            assert (await mail_to(house.port, answer_to(sent, "Yes."), reply_to(sent))).startswith(
                "250"
            )
        house.write(more=tokens("0"))  # its addresses are out there
        for is_dry_run in (True, False):
            refused = await post.joined.reloads.reload("uid:0", is_dry_run=is_dry_run)
            assert isinstance(refused, NotReloaded)
            assert "reply addresses are out there" in refused.problems[0].wrong
        assert (await mail_to(house.port, answer_to(first, "And?"), reply_to(first))).startswith(
            "250"
        )
        assert not any(key in post.log.getvalue() for key in KEYS)


async def test_a_renewed_certificate_is_shown_to_the_next_client(tmp_path: Path) -> None:
    def certify() -> ssl.SSLContext:
        authority = trustme.CA()
        issued = authority.issue_cert("mx.example.com")
        (tmp_path / "chain").write_bytes(issued.cert_chain_pems[0].bytes())
        (tmp_path / "key").write_bytes(issued.private_key_pem.bytes())
        trusting = ssl.create_default_context()
        authority.configure_trust(trusting)
        return trusting

    async def trusts(port: int, context: ssl.SSLContext) -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with Client(reader, writer) as client:
            await client.hear()
            await client.say("EHLO x")
            await client.say("STARTTLS")
            try:
                await writer.start_tls(context, server_hostname="mx.example.com")
            except ssl.SSLError:
                return False
            return True

    old = certify()
    files = 'tls_certificate = "chain"\ntls_key = "key"'
    async with office(tmp_path, listener=files) as (house, post):
        assert await trusts(house.port, old)
        new = certify()
        assert not await trusts(house.port, new)
        told = await post.reload()
        assert told.changed == ()
        assert await trusts(house.port, new)
        (tmp_path / "key").write_text("no key")
        refused = await post.joined.reloads.reload("uid:0", is_dry_run=False)
        assert isinstance(refused, NotReloaded)
        assert await trusts(house.port, new)
        (tmp_path / "key").unlink()
        os.mkfifo(tmp_path / "key")
        refused = await post.joined.reloads.reload("uid:0", is_dry_run=False)
        assert isinstance(refused, NotReloaded)
        assert "not a file" in refused.problems[0].wrong
        assert await trusts(house.port, new)


async def test_where_it_listens_stays_until_a_restart_and_the_rest_follows(tmp_path: Path) -> None:
    async with office(tmp_path) as (house, post):
        old = house.port
        house.port = free_port()
        house.write(listener="max_message_bytes = 65536")
        told = await post.reload()
        assert [one.path for one in told.needs_restart] == ["listener.listen"]
        assert [one.path for one in told.changed] == ["listener.max_message_bytes"]
        big = mail("Hello\r\n" * 20_000)
        assert (await mail_to(old, big, SUPPORT)).startswith("552")
        assert (await mail_to(old, mail("Hello"), SUPPORT)).startswith("250")


async def test_a_listener_that_leaves_the_settings_goes_on_as_it_was_until_a_restart(
    tmp_path: Path,
) -> None:
    async with office(tmp_path) as (house, post):
        await post.submit(to=[ALICE])
        await post.quiet()
        (sent,) = house.relay.transactions
        house.write(listener="none", mailbox='accept_new = "all"')
        told = await post.reload()
        assert [(one.path, one.kind) for one in told.needs_restart] == [("listener", "removed")]
        assert (await mail_to(house.port, answer_to(sent, "Yes."), reply_to(sent))).startswith(
            "250"
        )
        await post.submit(to=[ALICE])
        await post.quiet()
        assert "Reply-To" not in (house.relay.transactions[1].content or b"").decode()


async def test_a_listener_that_waits_for_its_end_follows_the_mailboxes_that_come_and_go(
    tmp_path: Path,
) -> None:
    third = OTHER.replace("other", "third")
    async with office(tmp_path, more=OTHER) as (house, post):
        await post.submit(to=[ALICE])
        await post.quiet()
        (sent,) = house.relay.transactions
        house.write(listener="none", mailbox='accept_new = "none"', more=third)
        await post.reload()
        assert (await mail_to(house.port, mail("Hello"), "other@example.com")).startswith("550")
        assert (await mail_to(house.port, mail("Hello"), "third@example.com")).startswith("250")
        assert (await mail_to(house.port, mail("Hi"), SUPPORT)).startswith("250")
        taken = await mail_to(house.port, answer_to(sent, "Yes."), reply_to(sent))
        assert taken.startswith("250")
        told = {one["envelope"]["to"][0]: one.get("accepted") for one in await events(post, 3)}
        assert (told["third@example.com"], told[SUPPORT]) == (None, False)
        text = (tmp_path / "postroom.toml").read_text().replace("support", "fourth")
        (tmp_path / "postroom.toml").write_text(text)
        await post.reload()
        assert (await mail_to(house.port, answer_to(sent, "?"), reply_to(sent))).startswith("550")
        assert (await mail_to(house.port, mail("Hi"), "postmaster@example.com")).startswith("550")


async def test_a_listener_that_comes_into_the_settings_waits_for_a_restart(tmp_path: Path) -> None:
    async with office(tmp_path, listener="none", mailbox="") as (house, post):
        house.write()
        told = await post.reload()
        assert [(one.path, one.kind) for one in told.needs_restart] == [("listener", "added")]
        await post.submit(to=[ALICE])
        await post.quiet()
        (sent,) = house.relay.transactions
        assert b"Reply-To" not in (sent.content or b"")
