"""The stage of a dialogue: the real client on one side, the server of the script on the other."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from datetime import timedelta

from postroom.core.mailbox import Relay, Tls
from postroom.outbound.pool import Pool
from postroom.outbound.timeouts import Timeouts
from postroom.ports.errors import RelayFault
from postroom.ports.relay import Dialogue, Envelope, Unfit
from support.authority import Authority
from support.dialogue_server import Server, octets, pause
from support.dialogues import Script


USUAL = {"sender": "a@a.example", "recipient": "b@b.example", "envid": "dlv_1", "mark": "go"}
CONTENT = "Subject: hi\\r\\n\\r\\nhello\\r\\n"


class Mail:
    """One mail of the script, as an attempt would hand it over."""

    def __init__(self, settings: dict[str, str]) -> None:
        made = USUAL | settings
        fill = int(made.get("fill", "0"))
        line = b"x" * 70 + b"\r\n"
        self.content = line * (fill // len(line)) if fill else octets(made.get("content", CONTENT))
        size = int(made.get("size", str(len(self.content))))
        self.envelope = Envelope(made["sender"], made["recipient"], made["envid"], size)
        self.mark_word = made["mark"]
        self.was_slow = 0
        self.is_marked = False
        self.is_gone = asyncio.Event()

    async def pieces(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.content), 262_144):
            yield self.content[start : start + 262_144]

    async def mark(self) -> bool:
        self.is_marked = True
        match self.mark_word:
            case "error":
                raise RuntimeError
            case "lost":
                await self.is_gone.wait()
                await pause(0.05)  # the client's end of the connection hears of it
        return self.mark_word != "stop"

    def on_slow(self) -> None:
        self.was_slow += 1


class Stage:
    """Both sides of one dialogue."""

    def __init__(self, script: Script, authority: Authority) -> None:
        self._script = script
        self._authority = authority
        self._connections = iter(script.connections)
        self._mail = Mail({})
        self._handlers: set[asyncio.Task[None]] = set()
        self.problems: list[str] = []

    async def play(self) -> list[str]:
        """What became of each mail, in the words of the file, and what the server saw go wrong."""
        server = await asyncio.start_server(
            self._serve,
            "127.0.0.1",
            0,
            ssl=self._server_tls(),
            limit=1 << 25,
        )
        relay = self._relay(server.sockets[0].getsockname()[1])
        seconds = {
            k: timedelta(seconds=float(v)) for k, v in self._script.setting("timeouts:").items()
        }
        pool = Pool(relay, "client.example", Timeouts(**seconds))
        told = []
        for number in range(len(self._script.expected)):
            self._mail = Mail(self._script.setting("mail:", number))
            told.append(await self._send(pool))
        await pool.close()
        server.close()
        if self._handlers:
            await asyncio.wait(tuple(self._handlers), timeout=5)
        if next(self._connections, None) is not None:
            self.problems.append("a connection of the script was never made")
        return told

    def _server_tls(self) -> ssl.SSLContext | None:
        wanted = self._script.setting("relay:")
        is_tls = wanted.get("tls") == "implicit" and wanted.get("server") != "clear"
        return self._authority.server() if is_tls else None

    def _relay(self, port: int) -> Relay:
        wanted = self._script.setting("relay:")
        return Relay(
            id="r",
            host=wanted.get("host", "127.0.0.1"),
            port=port,
            tls=Tls(wanted.get("tls", "none")),
            tls_ca=self._authority.path,
            username=wanted.get("username"),
            password=wanted.get("password"),
        )

    async def _send(self, pool: Pool) -> str:
        mail = self._mail
        try:
            session = await pool.borrow()
        except RelayFault as fault:
            return _tell_fault(fault)
        try:
            ended = await session.transact(mail.envelope, mail.pieces, mail.mark, mail.on_slow)
        except RelayFault as fault:
            pool.give_back(session, is_reusable=False)
            return _tell_fault(fault)
        except (RuntimeError, ValueError) as error:
            pool.give_back(session, is_reusable=False)
            return f"error {type(error).__name__}"
        if isinstance(ended, Unfit):
            pool.give_back(session, is_reusable=True)
            return f"unfit {ended.detail}"
        pool.give_back(session, is_reusable=ended.is_reusable)
        return _tell(ended, mail)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = next(self._connections, None)
        if task := asyncio.current_task():
            self._handlers.add(task)
        try:
            if lines is None:
                self.problems.append("a connection that the script does not have")
            else:
                async with asyncio.timeout(10):
                    await Server(lambda: self._mail.content, self._authority, reader, writer).run(
                        lines
                    )
        except (AssertionError, TimeoutError) as error:
            self.problems.append(f"{error!r}")
        except (OSError, asyncio.IncompleteReadError) as error:
            self.problems.append(f"the client was gone too early: {error!r}")
        finally:
            writer.transport.abort()
            self._mail.is_gone.set()


def _tell_fault(fault: RelayFault) -> str:
    code = f" code={fault.reply.code}" if fault.reply is not None else ""
    return f"fault stage={fault.stage}{code} fault={fault.detail}"


def _tell(ended: Dialogue, mail: Mail) -> str:
    flags = {
        "marked": ended.is_marked,
        "dotted": ended.is_dotted,
        "stopped": ended.is_stopped,
        "reusable": ended.is_reusable,
        "unreached": not ended.reached_mail,
        "slow": mail.was_slow == 1,
    }
    words = [f"stage={ended.stage}"]
    if ended.reply is not None:
        words.append(f"code={ended.reply.code}")
    words += [name for name, is_set in flags.items() if is_set]
    if ended.reply is not None:
        words += [f"enhanced={ended.reply.enhanced}", f"text={ended.reply.text}"]
    if ended.fault is not None:
        words.append(f"fault={ended.fault}")
    return " ".join(words)
