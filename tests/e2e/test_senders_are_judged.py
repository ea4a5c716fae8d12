"""Who a mail is from decides whether it wakes an agent: real daemon, real SMTP, DNS on loopback."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from postroom.selftest.nursery import Nursery
from support.house import House
from support.inward import SUPPORT, came_in, mail_to, reply_to
from support.judged import ALICE, letter, office
from support.listening import Client
from support.real_daemon import POSTROOM, env
from support.signing import sign


async def leased(house: House, **more: Any) -> list[dict[str, Any]]:
    """The events that an agent gets."""
    status, told = await house.ask("POST", "/leases", {"consumer": "agents", "wait_s": 0, **more})
    assert status == 200, told
    return [event for lease in told["leases"] for event in lease["events"]]


async def test_a_signed_mail_wakes_the_agent_and_a_forged_one_does_not(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery) as (house, _, _, port):
        signed = sign(letter("It is me."), "good.example")
        for content in (signed, letter("It is me, too. Pay now!")):
            assert (await mail_to(port, content, SUPPORT, sender=ALICE)).startswith("250")
        good, bad = await came_in(house, 2)
        assert good["authentication"]["verdict"] == "pass"
        assert good["authentication"]["decided_by"] == "dkim"
        assert good["authentication"]["dkim"][0]["aligned"] is True
        assert "message-id" in good["authentication"]["signals"]["unsigned_headers"]
        assert (bad["type"], bad["accepted"], bad["refused_by"]) == (
            "message.received",
            False,
            "accept_new",
        )
        assert [one["id"] for one in await leased(house)] == [good["id"]]
        assert '"refused_by":"accept_new"' in house.log.replace(" ", "")
        answer = {"in_reply_to_event": bad["id"], "text": "Who are you?"}
        status, told = await house.ask("POST", "/jobs", answer)
        assert (status, told["deliveries"][0]["recipient"]) == (202, ALICE)


async def test_who_named_the_type_gets_what_was_refused(tmp_path: Path, nursery: Nursery) -> None:
    async with office(tmp_path, nursery) as (house, _, _, port):
        made = {"name": "agents", "types": ["message.received"]}
        status, _ = await house.ask("POST", "/consumers", made)
        assert status == 200
        await mail_to(port, letter("Pay now!"), SUPPORT, sender=ALICE)
        (bad,) = await came_in(house)
        assert [one["id"] for one in await leased(house)] == [bad["id"]]
        words = (*POSTROOM, "events", "list", "--socket", str(tmp_path / "api.sock"))
        process = await asyncio.create_subprocess_exec(
            *words, env=env(COLUMNS="300"), stdout=asyncio.subprocess.PIPE
        )
        printed, _ = await process.communicate()
        assert b"[refused: accept_new] Hello" in printed


REQUIRED = {
    "any": (True, True, True),
    "dkim": (True, False, False),
    "dmarc": (True, False, False),
    "token": (False, True, False),
}


@pytest.mark.parametrize("require", REQUIRED)
async def test_each_mailbox_has_what_it_requires(
    tmp_path: Path, nursery: Nursery, require: str
) -> None:
    wanted = f'accept_new = "all"\nrequire = "{require}"'
    async with office(tmp_path, nursery, wanted) as (house, relay, _, port):
        job = await house.post(to=[ALICE], subject="Report")
        await house.settled(job["id"])
        token = reply_to(relay.transactions[0])
        signed = sign(letter("Signed."), "good.example")
        answer = letter("With a token, not signed.", token, Subject="Re: Report")
        for content, to in ((signed, SUPPORT), (answer, token), (letter("Neither."), SUPPORT)):
            assert (await mail_to(port, content, to, sender=ALICE)).startswith("250")
        found = await came_in(house, 3)
        assert tuple(one.get("accepted", True) for one in found) == REQUIRED[require]
        assert len(await leased(house, max_threads=9)) == sum(REQUIRED[require])
        (answered,) = (await house.deliveries(job["id"])).values()
        assert answered["feedback"] == ("replied" if REQUIRED[require][1] else "none")


async def test_a_domain_without_an_answer_holds_back_its_sender_only_and_250_never_waits(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery) as (house, _, names, port):
        names.zone.silent |= {"_dmarc.slow.example", "slow.example", "example"}
        slow = letter("Who am I?", From="bob@slow.example")
        assert (await mail_to(port, slow, SUPPORT, sender="bob@slow.example")).startswith("250")
        await house.until(lambda: "_dmarc.slow.example" in names.packets)
        signed = sign(letter("It is me."), "good.example")
        assert (await mail_to(port, signed, SUPPORT, sender=ALICE)).startswith("250")
        (first,) = await came_in(house, 1)
        assert first["message"]["from"]["address"] == ALICE
        _, second = await came_in(house, 2, timeout_s=20)
        assert second["message"]["from"]["address"] == "bob@slow.example"
        assert second["accepted"] is False


async def test_only_the_first_of_many_mails_waits_for_a_name_that_nobody_answers_for(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery) as (house, _, names, port):
        names.zone.silent |= {"_dmarc.slow.example"}
        for number in range(5):
            slow = letter(f"Who am I, {number}?", From="bob@slow.example")
            assert (await mail_to(port, slow, SUPPORT, sender=ALICE)).startswith("250")
        found = await came_in(house, 5, timeout_s=20)
        assert [one["accepted"] for one in found] == [False] * 5
        assert names.packets.count("_dmarc.slow.example") <= 3  # a question is three packets


async def handed_on(port: int, client_ip: str, content: bytes) -> None:
    """A mail that our own server in front has from this address."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async with Client(reader, writer) as relay:
        await relay.hear()
        said = (
            "EHLO relay.example.com",
            f"XFORWARD ADDR={client_ip} HELO=mail.good.example",
            f"MAIL FROM:<{ALICE}>",
            f"RCPT TO:<{SUPPORT}>",
            "DATA",
        )
        assert (await relay.say(*said)).startswith("354")
        await relay.send(content + b".\r\n")
        assert (await relay.hear()).startswith("250")


async def test_behind_a_trusted_relay_spf_is_that_of_its_client(
    tmp_path: Path, nursery: Nursery
) -> None:
    listener = 'trusted_relays = ["127.0.0.1"]\ntrusted_authserv_ids = ["mx.provider.example"]'
    async with office(tmp_path, nursery, "", listener) as (house, _, _, port):
        await handed_on(port, "192.0.2.1", letter("From its own server."))
        await handed_on(port, "192.0.2.66", letter("From another."))
        await mail_to(port, letter("From nobody knows where."), SUPPORT, sender=ALICE)
        good, bad, open_ = await came_in(house, 3)
        assert good["authentication"]["decided_by"] == "spf"
        assert (good["envelope"]["client_ip"], good["envelope"]["relay_ip"]) == (
            "192.0.2.1",
            "127.0.0.1",
        )
        assert bad["authentication"]["verdict"] == "fail"
        assert open_["authentication"]["spf"]["result"] == "absent"
        assert open_["authentication"]["verdict"] == "unverified"
        assert "relay_ip" not in open_["envelope"]
        word = "Authentication-Results: mx.provider.example; dkim=pass header.d=good.example\r\n"
        await mail_to(port, word.encode() + letter("It says so."), SUPPORT, sender=ALICE)
        trusted = (await came_in(house, 4))[3]
        assert trusted["authentication"]["decided_by"] == "trusted"
        assert trusted["authentication"]["trusted"][0]["dkim_domain"] == "good.example"


async def test_what_a_stranger_says_of_itself_is_no_evidence_and_is_shown_to_nobody(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery) as (house, _, _, port):
        word = "Authentication-Results: mx.example.com; dkim=pass header.d=good.example\r\n"
        await mail_to(port, word.encode() + letter("Believe me."), SUPPORT, sender=ALICE)
        (event,) = await came_in(house)
        assert event["authentication"]["forged_results"] == 1
        assert event["authentication"]["verdict"] == "unverified"
        assert "dkim=pass" not in str(event)
