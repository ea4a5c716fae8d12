"""The README's five minutes, as a stranger types them: a relay that prints, the real daemon, curl, command line, Python.

Only two things differ: the folder is a temporary one, and both ports are chosen by the kernel.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from postroom.client import Client
from support.config_files import ROOT
from support.inward import free_port
from support.names import nameless
from support.real_daemon import env


README = (ROOT / "README.md").read_text("utf-8")
FIVE_MINUTES = README.partition("## Five minutes")[2].partition("\n## ")[0]
SHELL = re.findall(r"```sh\n(.*?)```", FIVE_MINUTES, re.DOTALL)
(PYTHON,) = re.findall(r"```python\n(.*?)```", FIVE_MINUTES, re.DOTALL)
RELAY_PORT = "2525"
MAIL_PORT = "2526"


def commands(block: str) -> list[str]:
    """The commands of a block, one for each line that no backslash continues."""
    lines = re.sub(r"\\\n\s*", "", block).splitlines()
    return [line for line in lines if line.strip()]


@dataclass
class Terminal:
    """Somebody who follows the README in a folder of their own."""

    folder: Path
    port: str
    mail_port: str
    socket: str = ""

    def type(self, line: str) -> subprocess.CompletedProcess[str]:
        """Type a line; how it ended."""
        return subprocess.run(
            ["bash", "-c", line.replace(MAIL_PORT, self.mail_port)],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=40,
            check=False,
        )

    @property
    def env(self) -> dict[str, str]:
        """What the `export` line makes of the environment, as far as it was typed."""
        path = (
            f"{self.folder}/.venv/bin:{os.environ['PATH']}" if self.socket else os.environ["PATH"]
        )
        return env(PATH=path, POSTROOM_SOCKET=self.socket, PYTHONUNBUFFERED="1")

    @contextmanager
    def leave_running(self, line: str, log: Path) -> Iterator[None]:
        """Type a line into another terminal; it is stopped at the end."""
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-c", line.replace(RELAY_PORT, self.port)],
                cwd=self.folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(15)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    @property
    def printed(self) -> str:
        """What the relay printed so far."""
        return (self.folder / "relay.log").read_text("utf-8", "replace")

    def copies(self, *lines: str) -> int:
        """How many mails with all of these lines the relay has printed."""
        mails = self.printed.split("---------- MESSAGE FOLLOWS ----------")[1:]
        return sum(all(f"\n{line}\n" in mail for line in lines) for mail in mails)


@pytest.fixture(scope="module")
def you() -> Iterator[Terminal]:
    """The third terminal, with the other two running."""
    relay, daemon, export = commands(SHELL[0])
    with tempfile.TemporaryDirectory(prefix="pr-") as name:
        you = Terminal(Path(name), str(free_port()), str(free_port()))
        (you.folder / ".venv").symlink_to(sys.prefix)
        shutil.copytree(ROOT / "config", you.folder / "config")
        settings = you.folder / "config" / "dev.toml"
        text = settings.read_text("utf-8").replace(RELAY_PORT, you.port)
        text = text.replace("[listener]", f'[listener]\nresolvers = ["127.0.0.1:{nameless()}"]')
        settings.write_text(text.replace(MAIL_PORT, you.mail_port), "utf-8")
        with (
            you.leave_running(relay, you.folder / "relay.log"),
            you.leave_running(daemon, you.folder / "daemon.log"),
        ):
            you.socket = you.type(f"{export}\nprintf %s $POSTROOM_SOCKET").stdout
            said = (you.folder / "daemon.log").read_text
            assert Client(you.socket, retry_s=15).is_ready(), said("utf-8")
            yield you


@pytest.fixture
def curl() -> None:
    """curl; with POSTROOM_REQUIRE_PEERS=1 it must be there."""
    found = shutil.which("curl")
    if found is None and os.environ.get("POSTROOM_REQUIRE_PEERS") != "1":
        pytest.skip("curl is not on this machine")
    assert found is not None, "curl is required (POSTROOM_REQUIRE_PEERS=1)"


@pytest.mark.usefixtures("curl")
def test_curl_hands_over_a_mail_once(you: Terminal) -> None:
    hand_over, look = commands(SHELL[1])
    status = " --write-out ' %{http_code}'"
    body, _, code = you.type(hand_over + status).stdout.rpartition(" ")
    job = json.loads(body)
    assert code == "202"
    assert [one["recipient"] for one in job["deliveries"]] == ["ann@example.com"]
    body, _, code = you.type(hand_over + status).stdout.rpartition(" ")
    again = json.loads(body)
    assert code == "200"
    assert (again["id"], again["deduplicated"]) == (job["id"], True)
    Client(you.socket).wait(job["id"], 20)
    assert job["id"] in [one["id"] for one in json.loads(you.type(look).stdout)["items"]]
    assert you.copies("Subject: Hello", f"X-Postroom-Delivery: {job['deliveries'][0]['id']}") == 1


def test_the_command_line_sends_and_tells(you: Terminal) -> None:
    send, *others = commands(SHELL[2])
    sent = you.type(send)
    assert sent.returncode == 0, sent
    job_id = sent.stdout.split()[0]
    for line in others:
        said = you.type(line)
        assert said.returncode == 0, said
    for verb in re.findall(r"`(postroom \w+ ID(?: --raw)?)`", FIVE_MINUTES):
        said = you.type(verb.replace("ID", job_id))
        assert said.returncode == 0, said
    assert "It works." in you.printed


def test_a_report_in_python_reaches_everyone_once_however_often_it_is_run(you: Terminal) -> None:
    def run(text: str) -> list[str]:
        (you.folder / "report.py").write_text(text, "utf-8")
        done = you.type("python report.py")
        assert done.returncode == 0, done
        return done.stdout.splitlines()

    both = ["ann@example.com sent None", "bob@example.com sent None"]
    assert run(PYTHON) == both
    assert run(PYTHON) == both
    with_carol = PYTHON.replace('"bob@example.com"]', '"bob@example.com", "carol@example.com"]')
    assert run(with_carol) == [*both, "carol@example.com sent None"]
    for name in ("ann", "bob", "carol"):
        assert you.copies("Subject: Sales report", f"To: {name}@example.com") == 1


@pytest.mark.usefixtures("curl")
def test_an_answer_comes_back_and_is_answered_in_its_conversation(you: Terminal) -> None:
    hand_in, agent = SHELL[3].split("\n\n")
    handed = you.type(hand_in)
    assert handed.returncode == 0, handed
    lease, show, complete = commands(agent)
    leased = you.type(lease)
    assert leased.returncode == 0, leased
    assert "ann@example.com" in leased.stdout
    (lease_id,) = set(re.findall(r"lse_\w+", leased.stdout))
    (event_id,) = set(re.findall(r"evt_\w+", leased.stdout))
    assert you.type(lease.replace("--wait 20", "")).returncode == 75
    shown = you.type(show.replace("EVENT", event_id)).stdout
    assert re.search(r"^verdict +unverified$", shown, re.MULTILINE)
    assert re.search(r"^kind +human$", shown, re.MULTILINE)
    assert shown.endswith("\n\nThe northern ones.\n")
    done = you.type(complete.replace("LEASE", lease_id).replace("EVENT", event_id))
    assert done.returncode == 0, done
    (job_id,) = re.findall(r"job_\w+", done.stdout)
    Client(you.socket).wait(job_id, 20)
    assert you.copies("Subject: Re: Which figures?", "On Thursday.") == 1


@pytest.mark.usefixtures("curl")
@pytest.mark.timeout(90)
def test_the_way_back_can_be_tried_as_the_manual_says(you: Terminal) -> None:
    page = (ROOT / "docs" / "receiving.md").read_text("utf-8").partition("## Try it")[2]
    (block,) = re.findall(r"```sh\n(.*?)```", page.partition("\n## ")[0], re.DOTALL)
    send, show, answer, bounce, look, gone = commands(block.replace("|\n", "| "))
    to = "try@example.com"
    sent = you.type(send.replace("ann@example.com", to))
    assert sent.returncode == 0, sent
    (delivery,) = set(re.findall(r"dlv_\w+", sent.stdout))
    facts = dict(
        re.findall(
            r"^(\w+) +(\S+)$", you.type(show.replace("DELIVERY", delivery)).stdout, re.MULTILINE
        )
    )
    client = Client(you.socket)
    after = max(one["seq"] for one in client.every(client.events))
    for line in (answer, bounce):
        typed = line.replace("REPLY_TO", facts["reply_to"]).replace("ann@example.com", to)
        handed = you.type(typed.replace("RETURN_PATH", facts["return_path"]))
        assert handed.returncode == 0, handed
    types = {event["type"] for _, event in zip(range(2), client.follow(after), strict=False)}
    assert types == {"reply.received", "delivery.bounced"}
    assert len(re.findall(delivery, you.type(look).stdout)) == 3
    assert to in you.type(gone).stdout
    for lease in client.lease(max_threads=10):  # nothing is left for who follows the README
        client.complete(lease)


def test_the_two_commands_do_what_the_readme_says() -> None:
    """They are run by `.ci/run` and by tests/e2e/test_demo.py; here, that make knows them."""
    typed = README.partition("```sh\n")[2].partition("```")[0]
    for line, does in zip(commands(typed), ("postroom demo", "python -m pytest"), strict=True):
        words = line.partition("#")[0].split()
        plan = subprocess.run(
            [*words, "--dry-run", "--no-print-directory"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert plan.returncode == 0, plan
        assert plan.stdout.rstrip().endswith(does)
