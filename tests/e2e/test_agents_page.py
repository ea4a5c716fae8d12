"""The agent of docs/agents.md, run as it stands there, against a daemon that mail comes in to."""

import itertools
import re
import smtplib
import socket
import threading
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from postroom.client import Client
from support.names import nameless
from support.real_daemon import RealDaemon, real_daemon


PAGE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
ALICE = "alice@customer.example"
LISTENER = """\
accept_new = "all"
[listener]
listen = ["127.0.0.1:{port}"]
hostname = "mx.example.com"
domains = ["example.com"]
postmaster = "support"
resolvers = ["127.0.0.1:{names_port}"]
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def with_listener(daemon: RealDaemon) -> int:
    """The port on which the daemon, started anew, takes mail."""
    daemon.stop()
    port = free_port()
    said = daemon.config.read_text()
    daemon.config.write_text(said + LISTENER.format(port=port, names_port=nameless()))
    daemon.start()
    return port


def write(port: int, text: str, number: int, answers: int | None = None) -> None:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = ALICE, "support@example.com", "A question"
    mail["Message-ID"] = f"<{number}@customer.example>"
    if answers is not None:
        mail["In-Reply-To"] = f"<{answers}@customer.example>"
    mail.set_content(text)
    with smtplib.SMTP("127.0.0.1", port, timeout=10) as smtp:
        smtp.send_message(mail)


def agent() -> dict[str, Any]:
    """What the page's code defines."""
    names: dict[str, Any] = {"__name__": "agent"}
    exec(compile("\n".join(BLOCKS), "agents.md", "exec"), names)  # noqa: S102 - our own page
    return names


@pytest.mark.timeout(90)
def test_the_agent_of_the_manual_answers_once_however_many_there_are() -> None:
    names = agent()
    with real_daemon() as daemon:
        port = with_listener(daemon)
        client = daemon.client
        handled: list[int] = []

        def work() -> None:
            handled.append(names["work_once"](Client(client.socket), 8))

        agents = [threading.Thread(target=work) for _ in range(3)]
        for one in agents:
            one.start()
        write(port, "Is it resolved?\n", 1)
        for one in agents:
            one.join(40)
        assert sorted(handled) == [0, 0, 1]
        (job,) = client.jobs()["items"]
        job = client.wait(job["id"], timeout_s=20)
        assert [one["recipient"] for one in job["deliveries"]] == [ALICE]
        assert daemon.relay.copies(ALICE) == 1
        thread = client.thread(job["thread_id"])
        assert thread["events"][0]["type"] == "message.received"
        assert len(thread["deliveries"]) == 1
        raw = client.event_raw(thread["events"][0]["id"])
        assert b"Is it resolved?" in raw


@pytest.mark.timeout(90)
def test_a_mail_that_the_model_fails_on_is_given_back_and_tried_again() -> None:
    names = agent()
    with real_daemon() as daemon:
        port = with_listener(daemon)
        write(port, "Poison.\n", 1)
        think = names["think"]

        def fail(thread: object, events: object) -> str:
            raise RuntimeError

        names["think"] = fail
        assert names["work_once"](daemon.client, 30) == 1
        assert names["work_once"](daemon.client, 0) == 0
        (consumer,) = daemon.client.consumers()["items"]
        assert (consumer["pending"], consumer["leased"]) == (1, 0)
        names["think"] = think


@pytest.mark.timeout(90)
def test_what_comes_in_while_the_model_thinks_is_read_before_it_is_answered() -> None:
    names = agent()
    with real_daemon() as daemon:
        port = with_listener(daemon)
        write(port, "Please cancel.\n", 1)
        think, read = names["think"], []

        def think_long(thread: object, events: list[dict[str, Any]]) -> object:
            read.append(len(events))
            if len(read) == 1:
                write(port, "Wait, no!\n", 2, answers=1)
                list(itertools.islice(daemon.client.follow(0), 2))  # until it is an event
            return think(thread, events)

        names["think"] = think_long
        assert names["work_once"](daemon.client, 30) == 1
        assert read == [1, 2]
        (job,) = daemon.client.jobs()["items"]
        job = daemon.client.wait(job["id"], timeout_s=20)
        assert b"Wait, no!" in daemon.client.raw(job["deliveries"][0]["id"])
