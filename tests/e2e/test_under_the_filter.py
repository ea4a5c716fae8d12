"""The daemon does all its work under what the unit forbids: its calls, its memory, its folders, its rights.

Nothing here is systemd; `support.confined` does the same to the process. A call that the unit denies kills it.
"""

import asyncio
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from email.message import EmailMessage
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import pytest
import trustme

from postroom.selftest.nursery import Nursery
from support.confined import USER, Plan
from support.house import House
from support.inward import SUPPORT, came_in, mail_to
from support.judged import ALICE, zone
from support.nameserver import name_server
from support.peers import needs_own_mounts, needs_peer
from support.real_daemon import POSTROOM, SOURCE, env
from support.relay import ScriptedRelay
from support.signing import sign


SETTINGS = """\
[daemon]
state_dir = "{folder}/state"
[api]
socket = "{folder}/api.sock"
[listener]
hostname = "mx.example.com"
domains = ["example.com"]
postmaster = "support"
resolvers = ["127.0.0.1:{dns}"]
[[mailbox]]
id = "support"
address = "Support <support@example.com>"
attachment_roots = ["{folder}"]
[mailbox.relay]
host = "localhost"
port = {port}
tls_ca = "{folder}/ca.pem"
auth = "password"
username = "support"
password = "credential:support"
"""
NAME = re.compile(r"[\w.-]+")
# The loop of a plain installation, and that of the extra.
LOOPS = {
    "asyncio": "import sys; sys.modules['uvloop'] = None; import runpy; runpy.run_module('postroom.cli', run_name='__main__')",
    "uvloop": "import runpy; runpy.run_module('postroom.cli', run_name='__main__')",
}
FORBIDDEN = {
    "writing beside the state": ("open('/etc/postroom-was-here', 'w')", "Read-only"),
    "memory that is written and run": (
        "import mmap; mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC)",
        "not permitted",
    ),
    "a raw packet": ("import socket; socket.socket(socket.AF_PACKET)", "not supported"),
    "a set-uid file": ("import os; os.chmod('.', 0o4700)", "not permitted"),
    "another user's processes": ("open('/proc/1/cmdline')", "No such file"),
    "a namespace": (
        "import ctypes as c, os; c.CDLL(None, use_errno=True).unshare(1 << 28); raise OSError(os.strerror(c.get_errno()))",
        "not permitted",
    ),
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """What systemd makes: the folder of the state, and the credentials for the daemon's eyes."""
    needs_own_mounts()
    needs_peer("systemd-analyze")
    with TemporaryDirectory(prefix="postroom-test-") as name:
        made = Path(name)
        made.chmod(0o755)
        for one in ("state", "credentials"):
            (made / one).mkdir(mode=0o700)
            os.chown(made / one, USER, USER)
        (made / "credentials" / "relay_support").write_text("secret\n")
        (made / "credentials" / "relay_support").chmod(0o400)
        os.chown(made / "credentials" / "relay_support", USER, USER)
        yield made


def plan(
    folder: Path,
    *command: str,
    sockets: tuple[socket.socket, ...] = (),
    denied: tuple[str, ...] = (),
    **environ: str,
) -> Plan:
    """This Python with this command, and nothing in its environment but what systemd would put there."""
    needed = (sys.base_prefix, sys.prefix, str(SOURCE.parent))
    return Plan(
        command=[sys.executable, *command],
        writable=str(folder / "state"),
        needed=[str(Path(one).resolve()) for one in needed],
        environ={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), **environ},
        sockets=[one.fileno() for one in sockets],
        also_denied=list(denied),
    )


def run(made: Plan) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        made.words(), capture_output=True, text=True, timeout=50, check=False, env=env()
    )


@contextmanager
def daemon(folder: Path, code: str, *sockets: socket.socket) -> Iterator[subprocess.Popen[bytes]]:
    """The daemon, with both sockets in its hands."""
    made = plan(
        folder,
        *("-c", code, "run", "--config", str(folder / "postroom.toml")),
        sockets=sockets,
        LISTEN_FDS=str(len(sockets)),
        LISTEN_FDNAMES="api:smtp",
        NOTIFY_SOCKET=str(folder / "notify"),
        WATCHDOG_USEC="1000000",
        CREDENTIALS_DIRECTORY=str(folder / "credentials"),
    )
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            made.words(), stdout=log, stderr=log, env=env(), pass_fds=made.sockets
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@asynccontextmanager
async def relay_and_names(folder: Path) -> AsyncIterator[ScriptedRelay]:
    """A relay that wants TLS and a password, and a nameserver; the settings name both."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(tls)
    async with (
        ScriptedRelay(tls=tls, credentials=("support", "secret")) as relay,
        name_server(zone()) as names,
    ):
        settings = SETTINGS.format(folder=folder, dns=names.port, port=relay.port)
        (folder / "postroom.toml").write_text(settings)
        yield relay


def letter() -> bytes:
    """A signed mail with text, HTML and a file."""
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = ALICE, SUPPORT, "Order"
    made["Date"], made["Message-ID"] = "Mon, 30 Nov 2026 07:00:00 +0000", "<1@good.example>"
    made.set_content("Where is it?")
    made.add_alternative("<p>Where <b>is</b> it?</p>", subtype="html")
    made.add_attachment(b"1,2,3", maintype="text", subtype="csv", filename="order.csv")
    return sign(made.as_bytes().replace(b"\n", b"\r\n"), "good.example")


@pytest.mark.parametrize("loop", LOOPS)
async def test_all_the_work_is_done_under_what_the_unit_forbids(
    folder: Path, nursery: Nursery, loop: str
) -> None:
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as api,
        socket.create_server(("127.0.0.1", 0)) as smtp,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify,
    ):
        api.bind(str(folder / "api.sock"))
        api.listen()
        notify.bind(str(folder / "notify"))
        for one in ("notify", "api.sock"):
            (folder / one).chmod(0o777)
        (folder / "report.txt").write_text("All is well.")
        told: set[str] = set()
        # Ten of its words wait at the most (net.unix.max_dgram_qlen), and what finds no room is not said again.
        asyncio.get_running_loop().add_reader(notify, lambda: told.update(said(notify)))
        async with (
            relay_and_names(folder) as relay,
            aiohttp.ClientSession(connector=aiohttp.UnixConnector(api.getsockname())) as session,
        ):
            with daemon(folder, LOOPS[loop], api, smtp) as process:
                house = House(folder, nursery, session)
                await house.until(house._is_ready, timeout_s=40)
                job = await house.post(
                    to=["bob@example.com"], attachments=[{"path": str(folder / "report.txt")}]
                )
                assert await house.settled(job["id"]) == {"bob@example.com": "sent"}
                assert relay.connections[-1].is_tls
                assert relay.connections[-1].username == "support"

                port = smtp.getsockname()[1]
                assert (await mail_to(port, letter(), SUPPORT, sender=ALICE)).startswith("250")
                (event,) = await came_in(house)
                assert event["authentication"]["verdict"] == "pass"
                assert event["message"]["parse"] == "complete"
                assert event["message"]["attachments"][0]["filename"] == "order.csv"

                words = ("-m", "postroom.cli", "reload", "--socket", str(folder / "api.sock"))
                reloaded = await asyncio.to_thread(run, plan(folder, *words))
                assert reloaded.returncode == 0, reloaded.stderr

                backup = folder / "backup.tar"
                words = [*POSTROOM, "backup", str(backup), "--socket", str(folder / "api.sock")]
                done = await asyncio.to_thread(subprocess.run, words, env=env(), check=False)
                assert done.returncode == 0
                with tarfile.open(backup) as tar:
                    assert "manifest.json" in tar.getnames()
                assert await asyncio.to_thread(stopped, process) == 0, house.log[-2000:]
        asyncio.get_running_loop().remove_reader(notify)
        told |= said(notify)
        assert {"READY=1", "WATCHDOG=1", "STOPPING=1"} <= told


def stopped(process: subprocess.Popen[bytes]) -> int:
    process.terminate()
    return process.wait(20)


def said(notify: socket.socket) -> set[str]:
    """All that the daemon told systemd."""
    notify.settimeout(0)
    lines: set[str] = set()
    while True:
        try:
            lines |= set(notify.recv(4096).decode().split("\n"))
        except BlockingIOError:
            return lines


@pytest.mark.parametrize("what", FORBIDDEN)
def test_what_the_unit_forbids_can_not_be_done(folder: Path, what: str) -> None:
    code, why = FORBIDDEN[what]
    done = run(plan(folder, "-c", code))
    assert done.returncode == 1
    assert why in done.stderr


@pytest.mark.parametrize("call", ["prlimit64", "fdatasync", "socketpair"])
def test_a_call_that_the_daemon_needs_and_the_unit_denies_is_seen(folder: Path, call: str) -> None:
    """What is shown above would not be shown if the unit denied it."""
    (folder / "postroom.toml").write_text(
        f'[daemon]\nstate_dir = "{folder}/state"\n[api]\nsocket = "{folder}/state/api.sock"\n'
    )
    words = ("-c", LOOPS["asyncio"], "run", "--config", str(folder / "postroom.toml"))
    assert run(plan(folder, *words, denied=(call,))).returncode == -signal.SIGSYS


def test_every_extension_that_we_need_is_loaded_under_what_the_unit_forbids(folder: Path) -> None:
    names = extensions()
    assert {"lxml.etree", "msgspec._core", "uvloop.loop"} <= set(names)
    code = "import importlib, sys; [importlib.import_module(one) for one in sys.argv[1:]]"
    done = run(plan(folder, "-c", code, *names))
    assert (done.returncode, done.stderr) == (0, "")


def extensions() -> list[str]:
    """The modules in C, Rust or Cython of all packages that we need, and of those that they need."""
    ours = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["project"]
    waiting = [*ours["dependencies"], *ours["optional-dependencies"]["uvloop"]]
    seen, found = set[str](), set[str]()
    while waiting:
        name = NAME.findall(waiting.pop())[0]
        if name in seen:
            continue
        seen.add(name)
        try:
            one = distribution(name)
        except PackageNotFoundError:
            continue  # for another Python or another system
        waiting += [line for line in one.requires or () if "extra ==" not in line]
        for file in one.files or ():
            if file.suffix == ".so" and ".libs" not in file.parts[0]:
                found.add(".".join((*file.parts[:-1], file.name.partition(".")[0])))
    return sorted(found)
