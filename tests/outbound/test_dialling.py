"""How a relay is reached: by each of its addresses, with its login and certificates, within a time."""

import errno
import os
import socket
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.mailbox import Relay, Tls
from postroom.core.reply import Stage
from postroom.outbound.pool import Pool
from postroom.outbound.timeouts import Timeouts
from postroom.ports.errors import RelayFault
from support.pooled import QUICK, make_pool, send
from support.relay import ScriptedRelay
from support.relay_script import Hold, Reply


async def test_every_address_is_tried_before_it_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedRelay() as relay, ScriptedRelay(host="127.0.0.2") as refusing:
        closed = socket.socket()
        closed.bind(("127.0.0.3", 0))  # bound, and nobody listens
        places = [
            closed.getsockname(),
            ("127.0.0.2", refusing.port),
            ("127.0.0.1", relay.port),
        ]
        refusing.on("connect", Reply("554 5.3.2 not me"))
        _resolve(monkeypatch, places)
        pool = make_pool(relay, host="relay.example")
        assert (await send(pool)).is_dotted
        _resolve(monkeypatch, places[:2])
        broken = make_pool(relay, host="relay.example")
        with pytest.raises(RelayFault) as caught:
            await broken.borrow()
        closed.close()
        assert caught.value.stage is Stage.GREETING
        assert "Connection refused" in caught.value.detail
        assert "554 5.3.2 not me" in caught.value.detail
        await pool.close()


def _resolve(monkeypatch: pytest.MonkeyPatch, places: list[tuple[str, int]]) -> None:
    def ask(host: str, port: int, flags: int = 0) -> list[object]:
        assert host == "relay.example"
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "not known")
        return [(socket.AF_INET, place) for place in places]

    monkeypatch.setattr("postroom.outbound.names._ask", ask)


async def test_a_fault_tells_nothing_of_the_password() -> None:
    async with ScriptedRelay(credentials=("u", "right")) as relay:
        pool = make_pool(relay, username="u", password="hunter2-secret")
        with pytest.raises(RelayFault) as caught:
            await pool.borrow()
        fault = caught.value
        assert fault.reply is not None
        assert fault.reply.code == 535
        assert fault.reply.enhanced == "5.7.8"
        assert fault.__context__ is None
        assert "hunter2" not in f"{fault!r} {fault.reply!r}"
        assert [c.split()[0] for c in relay.connections[0].commands] == ["EHLO", "AUTH"]


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN", "CRAM-MD5"])
async def test_each_mechanism_logs_in(mechanism: str) -> None:
    async with ScriptedRelay(credentials=("u", "sécret"), auth=("NTLM", mechanism)) as relay:
        pool = make_pool(relay, username="u", password="sécret")
        await send(pool)
        assert relay.connections[0].username == "u"
        await pool.close()


async def test_a_host_without_an_address_is_a_fault() -> None:
    async with ScriptedRelay() as relay:
        for host in ("no-such-host.invalid", "x" * 70 + ".example"):
            with pytest.raises(RelayFault, match="DNS"):
                await make_pool(relay, host=host).borrow()


async def test_a_ca_file_that_is_not_there_is_a_fault() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay, tls=Tls.IMPLICIT, tls_ca="/no/such/file.pem")
        with pytest.raises(RelayFault, match=r"tls_ca /no/such/file\.pem: No such file"):
            await pool.borrow()


async def test_a_ca_file_that_became_a_pipe_is_a_fault_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ca")
    async with ScriptedRelay() as relay:
        pool = make_pool(relay, tls=Tls.IMPLICIT, tls_ca=str(tmp_path / "ca"))
        with pytest.raises(RelayFault, match="it is not a file"):
            await pool.borrow()


async def test_a_dial_as_a_whole_is_bounded() -> None:
    async with ScriptedRelay() as relay:
        hold = Hold()
        relay.on("connect", hold)
        wanted = Relay(id="r", host="127.0.0.1", port=relay.port, tls=Tls.NONE)
        pool = Pool(wanted, "client.example", Timeouts(dial=timedelta(seconds=0.1)))
        with pytest.raises(RelayFault, match="within the time"):
            await pool.borrow()
        hold.release()
        await relay.until(lambda: not relay.connections[0].is_open)


async def test_who_has_no_full_name_gives_an_address_in_ehlo() -> None:
    async with ScriptedRelay() as relay:
        wanted = Relay(id="r", host="127.0.0.1", port=relay.port, tls=Tls.NONE)
        pool = Pool(wanted, "laptop", QUICK)
        await pool.borrow()
        assert relay.connections[0].hello == "[127.0.0.1]"


async def test_a_host_without_a_socket_left_is_a_fault_and_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(*_: object) -> socket.socket:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        with monkeypatch.context() as patched:
            patched.setattr("postroom.outbound.relay.socket.socket", make)
            with pytest.raises(RelayFault, match="Too many open files"):
                await pool.borrow()
        assert (await send(pool)).is_dotted
        await pool.close()
