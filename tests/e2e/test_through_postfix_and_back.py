"""A real Postfix between us and the others: it reports what it could not deliver, and it brings what people write."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from postroom.core.ids import Kind, encode_id
from support.inward import LISTENER, SUPPORT, TEMPLATES, parsed, reply_to
from support.peers import needs_peer
from support.post import ARTICLE, Post, open_post, settings
from support.postfix import Postfix, postfix
from support.relay import ScriptedRelay
from support.relay_script import Reply


ANN, BOB = "ann@agent.test", "bob@agent.test"


@pytest.fixture(scope="module")
def relay() -> Iterator[Postfix]:
    with postfix() as running:
        yield running


@asynccontextmanager
async def office(
    folder: Path, relay: Postfix, listener: str = ""
) -> AsyncIterator[tuple[ScriptedRelay, Post]]:
    """Where Ann and Bob have their mail, and we, with Postfix between."""
    sink = ScriptedRelay()
    sink.port = relay.next_hop
    said = settings(
        folder,
        relay.port,
        mailbox=f"{ARTICLE}\n{TEMPLATES}",
        more=LISTENER.format(port=relay.way_in) + listener,
    )
    async with sink, open_post(said) as post:
        yield sink, post


async def came_in(post: Post, count: int) -> list[dict[str, Any]]:
    """The events of what came in, once it is so many."""
    found: list[dict[str, Any]] = []

    async def look() -> bool:
        log = await post.outbox.reader.find_events(0, 100)
        found[:] = [{"type": str(one.type), **one.data} for one in log if "envelope" in one.data]
        return len(found) >= count

    await post.until_answered(look, 30)
    assert len(found) == count
    return found


async def swaks(port: int, *words: str) -> str:
    """What it prints; it must have been able to hand the mail in."""
    command = needs_peer("swaks")
    process = await asyncio.create_subprocess_exec(
        command,
        *("--server", "127.0.0.1", "--port", str(port), "--helo", "client.agent.test", *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(20):
        printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
    return printed.decode()


async def test_what_postfix_could_not_deliver_is_a_fact_on_its_delivery_and_an_event(
    relay: Postfix, tmp_path: Path
) -> None:
    async with office(tmp_path, relay) as (sink, post):
        sink.on("rcpt", Reply("550 5.1.1 no such user here"), recipient=BOB)
        job = await post.submit(to=[ANN, BOB], conversation_id="c1", copies="individual")
        await post.quiet()
        assert await post.states(job) == {ANN: "sent", BOB: "sent"}
        (event,) = await came_in(post, 1)
        found = await post.deliveries(job)
        assert event["type"] == "delivery.bounced"
        assert event["envelope"]["from"] == ""
        assert event["answers"]["delivery_id"] == encode_id(Kind.DELIVERY, found[BOB].number)
        assert event["thread"]["id"] == encode_id(Kind.THREAD, found[BOB].thread_number)
        assert event["thread"]["matched_by"] == "return_path"
        assert event["thread"]["conversation_id"] == "c1"
        report = event["delivery_report"]
        assert (report["verified"], report["recipient"]) == (True, BOB)
        assert (report["action"], report["status"]) == ("failed", "5.1.1")
        assert "no such user here" in report["diagnostic"]
        assert report["original_message_id"] == found[BOB].message_id
        assert event["message"]["parse"] == "complete"
        assert (str(found[BOB].state), found[BOB].feedback) == ("sent", "bounced")
        assert found[ANN].feedback == "none"


async def test_what_a_person_writes_comes_through_postfix_and_finds_its_thread(
    relay: Postfix, tmp_path: Path
) -> None:
    async with office(tmp_path, relay) as (sink, post):
        job = await post.submit(to=[ANN], conversation_id="c2")
        await sink.until(lambda: sink.copies(ANN) == 1, 20)
        (sent,) = sink.transactions
        words = ["--from", ANN, "--to", reply_to(sent), "--h-From", f"Ann <{ANN}>"]
        await swaks(relay.port, *words, "--h-Subject", "Re: Your report", "--body", "It works.")
        (event,) = await came_in(post, 1)
        only = await post.only(job)
        assert event["type"] == "reply.received"
        assert event["thread"]["id"] == encode_id(Kind.THREAD, only.thread_number)
        assert event["thread"]["matched_by"] == "reply_token"
        assert event["message"]["new_text"].strip() == "It works."
        assert event["message"]["from"] == {"name": "Ann", "address": ANN}
        assert event["answers"]["from_recipient"] is True
        assert only.feedback == "replied"


async def test_swaks_hands_in_a_reply_with_a_file_and_is_refused_an_address_that_is_none(
    relay: Postfix, tmp_path: Path
) -> None:
    (tmp_path / "numbers.csv").write_text("a,b\n")
    async with office(tmp_path, relay) as (sink, post):
        await post.submit(to=[ANN])
        await sink.until(lambda: sink.copies(ANN) == 1, 20)
        (sent,) = sink.transactions
        ids = str(parsed(sent)["Message-ID"])
        await swaks(
            relay.way_in,
            *("--from", ANN, "--to", SUPPORT, "--h-Subject", "Re: Your report"),
            *("--header", f"In-Reply-To: {ids}", "--body", "Here."),
            *("--attach-type", "text/csv", "--attach", f"@{tmp_path}/numbers.csv"),
        )
        (event,) = await came_in(post, 1)
        assert event["type"] == "reply.received"
        assert event["thread"]["matched_by"] == "in_reply_to"
        (file,) = event["message"]["attachments"]
        assert (file["filename"], file["size_bytes"]) == ("numbers.csv", 4)
        for who in ("nobody@example.com", ANN):
            with pytest.raises(AssertionError, match="<\\*\\* 55"):
                await swaks(relay.way_in, "--from", ANN, "--to", who)
        assert len(await came_in(post, 1)) == 1


async def test_mail_waits_in_postfix_while_we_are_away(relay: Postfix, tmp_path: Path) -> None:
    words = ["--from", ANN, "--to", SUPPORT, "--h-Subject", "Hello", "--body", "Are you there?"]
    await swaks(relay.port, *words)
    async with office(tmp_path, relay) as (_, post):
        relay.flush()
        (event,) = await came_in(post, 1)
        assert event["type"] == "message.received"
        assert event["message"]["new_text"].strip() == "Are you there?"


async def test_a_trusted_postfix_says_from_whom_it_has_a_mail(
    relay: Postfix, tmp_path: Path
) -> None:
    async with office(tmp_path, relay, 'trusted_relays = ["127.0.0.1"]\n') as (_, post):
        words = ("--from", ANN, "--to", SUPPORT, "--h-Subject", "Hello", "--body", "It is me.")
        client = "NAME=mx.agent.test ADDR=192.0.2.7"
        await swaks(relay.port, "--xclient", client, *words)
        (event,) = await came_in(post, 1)
        envelope, spf = event["envelope"], event["authentication"]["spf"]
        assert (envelope["client_ip"], envelope["relay_ip"]) == ("192.0.2.7", "127.0.0.1")
        assert (spf["client_ip"], spf["result"]) == ("192.0.2.7", "none")
        assert '"helo": "client.agent.test"' in post.log.getvalue()
