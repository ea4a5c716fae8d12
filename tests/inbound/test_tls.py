"""STARTTLS: what was said in clear counts for nothing behind it."""

import asyncio
import ssl
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from postroom.core.listening import Listening
from postroom.inbound.limits import Limits
from postroom.inbound.words import Reply
from postroom.ports.errors import ConfigError
from support.listening import BOX, MAIL, PATIENCE, SETTINGS, listening


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def settings(authority: trustme.CA, tmp_path: Path) -> Listening:
    issued = authority.issue_cert("mx.example.com")
    issued.private_key_pem.write_to_path(str(tmp_path / "key"))
    for blob in issued.cert_chain_pems:
        blob.write_to_path(str(tmp_path / "cert"), append=True)
    return replace(SETTINGS, tls_certificate=str(tmp_path / "cert"), tls_key=str(tmp_path / "key"))


@pytest.fixture
def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def test_a_handshake_that_does_not_go_on_keeps_nobody_out(settings: Listening) -> None:
    limits = Limits(connections=1, kept_for_others=0, crowded_s=0.0)
    async with listening(limits, settings) as house, house.client() as silent:
        assert (await silent.say("STARTTLS")).startswith("220")
        async with house.client() as client:
            assert (await client.give()).startswith("250")
        await silent.reader.read()


async def test_a_mail_over_tls_is_known_as_such(
    settings: Listening, trusting: ssl.SSLContext
) -> None:
    async with listening(settings=settings) as house, house.client() as client:
        assert "STARTTLS" in await client.say("EHLO x")
        await client.start_tls(trusting)
        hello = await client.say("EHLO x")
        assert "STARTTLS" not in hello
        assert "AUTH" not in hello
        assert await client.say("STARTTLS") == Reply.TLS_TWICE
        assert (await client.give(MAIL + b"x\r\n" * 100_000)).startswith("250")
        assert (await client.give()).startswith("250")
        assert await client.say("QUIT") == Reply.BYE
    assert [arrival.is_tls for arrival in house.inbox.arrivals] == [True, True]
    assert house.inbox.content(1) == MAIL


async def test_what_was_said_in_clear_is_forgotten(
    settings: Listening, trusting: ssl.SSLContext
) -> None:
    async with listening(settings=settings) as house, house.client() as client:
        await client.say("EHLO x", "MAIL FROM:<a@b.test>", f"RCPT TO:<{BOX.address}>")
        await client.start_tls(trusting)
        assert await client.say("DATA") == Reply.MAIL_FIRST
        assert await client.say("MAIL FROM:<a@b.test>") == Reply.HELLO_FIRST


async def test_commands_hidden_behind_starttls_are_never_obeyed(
    settings: Listening, trusting: ssl.SSLContext
) -> None:
    async with listening(settings=settings) as house, house.client() as client:
        await client.say("EHLO x")
        await client.send(b"STARTTLS\r\nEHLO evil\r\nMAIL FROM:<evil@b.test>\r\n")
        assert (await client.hear()).startswith("220")
        async with asyncio.timeout(PATIENCE):
            await client.writer.start_tls(trusting, server_hostname="mx.example.com")
        assert await client.say("MAIL FROM:<a@b.test>") == Reply.HELLO_FIRST


@pytest.mark.parametrize("said", [b"", b"EHLO in clear\r\n", b"\x16\x03\x01\x00\x02\x01\x00"])
async def test_a_handshake_that_comes_to_nothing_leaves_nothing(
    settings: Listening, said: bytes
) -> None:
    async with listening(settings=settings) as house:
        async with house.client() as client:
            await client.say("EHLO x")
            assert (await client.say("STARTTLS")).startswith("220")
            await client.send(said)
        await asyncio.wait_for(house.listener._is_empty.wait(), PATIENCE)
        assert house.listener._door._inside == {}


async def test_a_peer_that_hangs_up_behind_the_dot_is_stored_over_tls_too(
    settings: Listening, trusting: ssl.SSLContext
) -> None:
    async with listening(settings=settings) as house:
        house.inbox.is_open.clear()
        async with house.client() as client:
            await client.say("EHLO x")
            await client.start_tls(trusting)
            await client.begin()
            await client.send(MAIL + b".\r\n")
        await asyncio.wait_for(house.listener._is_empty.wait(), PATIENCE)
        house.inbox.is_open.set()
        async with asyncio.timeout(PATIENCE):
            while house.listener.under_way:
                await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.005)
    assert len(house.inbox.arrivals) == 1


async def test_old_versions_are_not_spoken(settings: Listening, trusting: ssl.SSLContext) -> None:
    trusting.minimum_version = ssl.TLSVersion.TLSv1_2
    async with listening(settings=settings) as house, house.client() as client:
        context = house.listener._context
        assert context is not None
        assert context.minimum_version is ssl.TLSVersion.TLSv1_2
        assert (await client.say("NOOP")).startswith("250")


async def test_a_certificate_that_went_away_is_said(settings: Listening) -> None:
    gone = replace(settings, tls_key=f"{settings.tls_key}.gone")
    with pytest.raises(ExceptionGroup) as raised:
        async with listening(settings=gone):
            pass
    (error,) = raised.value.exceptions
    assert isinstance(error, ConfigError)
    assert "tls_certificate" in str(error)


def test_all_of_it_works_on_the_faster_loop_too(
    settings: Listening, trusting: ssl.SSLContext
) -> None:
    uvloop = pytest.importorskip("uvloop")

    async def story() -> None:
        async with listening(settings=settings) as house:
            async with house.client() as client:
                assert (await client.give()).startswith("250")
                await client.start_tls(trusting)
                assert (await client.give(MAIL + b"x\r\n" * 100_000)).startswith("250")
            async with house.client() as closing:
                await closing.begin()
                closing.writer.write(MAIL + b".\r\n")
                closing.writer.write_eof()
                assert (await closing.hear()).startswith("250")
            async with house.client() as resetting:
                await resetting.say("EHLO x")
                resetting.reset()
            async with house.client() as idle:
                await house.listener.drain(PATIENCE)
                assert await idle.hear() == Reply.STOPPING
            assert [arrival.is_tls for arrival in house.inbox.arrivals] == [False, True, False]
            assert house.listener._door._inside == {}

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(story())
