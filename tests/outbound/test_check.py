"""The check of a mailbox says for each step what was seen and what to do, and sends nothing."""

from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.mailbox import Relay, Tls
from postroom.outbound.check import CheckLine, CheckVerdict, check_mailbox
from postroom.outbound.timeouts import Timeouts
from support.authority import Authority
from support.relay import ScriptedRelay
from support.relay_script import Drop, Reply


PATIENCE = Timeouts(greeting=timedelta(seconds=1), command=timedelta(seconds=1))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


async def check(server: ScriptedRelay, **settings: object) -> dict[str, CheckLine]:
    wanted = {"id": "r", "host": "127.0.0.1", "port": server.port, "tls": Tls.NONE} | settings
    lines = await check_mailbox(Relay(**wanted), "me@example.com", "client.example", PATIENCE)
    for line in lines:
        assert bool(line.fix) == (line.verdict is CheckVerdict.FAILED)
    return {line.step: line for line in lines}


def words(lines: dict[str, CheckLine]) -> str:
    return " ".join(f"{step}:{line.verdict}" for step, line in lines.items())


async def test_all_is_well(authority: Authority) -> None:
    async with ScriptedRelay(tls=authority.server(), credentials=("u", "p")) as server:
        lines = await check(
            server, tls=Tls.STARTTLS, tls_ca=authority.path, username="u", password="p"
        )
        assert words(lines) == "dns:ok connect:ok tls:ok ehlo:ok auth:ok sender:ok reset:ok"
        assert lines["connect"].detail == f"connected to 127.0.0.1 port {server.port}"
        assert "TLSv1.3" in lines["tls"].detail
        assert "PIPELINING" in lines["ehlo"].detail
        assert lines["auth"].detail == "logged in as u"
        await server.until(lambda: not server.connections[0].is_open)
        commands = [line.split(" ")[0] for line in server.connections[0].commands]
        assert commands == ["EHLO", "STARTTLS", "EHLO", "AUTH", "MAIL", "RSET", "QUIT"]
        assert not server.transactions[0].recipients


async def test_what_is_not_configured_is_skipped() -> None:
    async with ScriptedRelay() as server:
        lines = await check(server)
        assert words(lines) == (
            "dns:ok connect:ok tls:skipped ehlo:ok auth:skipped sender:ok reset:ok"
        )
        assert lines["dns"].detail == "127.0.0.1 is an address, no name"
        assert lines["tls"].detail == 'tls = "none" in the settings'
        assert lines["auth"].detail == 'auth = "none" in the settings'


async def test_a_name_that_does_not_resolve() -> None:
    async with ScriptedRelay() as server:
        lines = await check(server, host="no-such-host.invalid")
        assert words(lines).startswith("dns:failed connect:skipped")


async def test_nobody_listens() -> None:
    async with ScriptedRelay() as server:
        pass
    lines = await check(server)
    assert words(lines).startswith("dns:ok connect:failed tls:skipped ehlo:skipped")
    assert "refused" in lines["connect"].detail


@pytest.mark.parametrize("tls", [Tls.STARTTLS, Tls.IMPLICIT])
async def test_the_certificate_names_another_host(authority: Authority, tls: Tls) -> None:
    context = authority.server("wrong")
    async with ScriptedRelay(tls=context, is_implicit=tls is Tls.IMPLICIT) as server:
        lines = await check(server, tls=tls, tls_ca=authority.path)
        ehlo = "ok" if tls is Tls.STARTTLS else "skipped"
        assert words(lines).startswith(f"dns:ok connect:ok tls:failed ehlo:{ehlo} auth:skipped")
        assert "mismatch" in lines["tls"].detail


async def test_the_certificate_is_of_a_ca_that_we_do_not_trust(
    authority: Authority, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path)
    async with ScriptedRelay(tls=authority.server(), is_implicit=True) as server:
        lines = await check(server, tls=Tls.IMPLICIT, tls_ca=stranger.path)
        assert lines["tls"].verdict is CheckVerdict.FAILED


async def test_tls_where_there_is_none() -> None:
    async with ScriptedRelay() as server:
        lines = await check(server, tls=Tls.IMPLICIT)
        assert words(lines).startswith("dns:ok connect:ok tls:failed ehlo:skipped")


async def test_a_wrong_password() -> None:
    async with ScriptedRelay(credentials=("u", "p")) as server:
        lines = await check(server, username="u", password="q")
        assert words(lines) == (
            "dns:ok connect:ok tls:skipped ehlo:ok auth:failed sender:skipped reset:skipped"
        )
        assert "535 5.7.8 wrong password" in lines["auth"].detail


async def test_the_relay_turns_us_away() -> None:
    async with ScriptedRelay() as server:
        server.on("connect", Reply("554 5.7.1 not you"))
        lines = await check(server)
        assert words(lines).startswith("dns:ok connect:ok tls:skipped ehlo:failed")


async def test_the_sender_is_not_accepted() -> None:
    async with ScriptedRelay() as server:
        server.on("mail", Reply("550 5.7.1 not your address"))
        lines = await check(server)
        assert words(lines).endswith("sender:failed reset:ok")
        assert "550 5.7.1 not your address" in lines["sender"].detail


async def test_the_relay_hangs_up_at_mail() -> None:
    async with ScriptedRelay() as server:
        server.on("mail", Drop())
        lines = await check(server)
        assert words(lines).endswith("sender:failed reset:skipped")
