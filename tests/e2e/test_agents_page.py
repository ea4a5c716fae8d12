"""The agent of docs/agents.md, run as it stands there, against a daemon that mail comes in to."""

import itertools
import json
import re
import smtplib
import threading
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from postroom.client import Client
from support.inward import free_port
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


def with_listener(daemon: RealDaemon) -> int:
    """The port on which the daemon, started anew, takes mail."""
    daemon.stop()
    port = free_port()
    said = daemon.config.read_text()
    daemon.config.write_text(said + LISTENER.format(port=port, names_port=nameless()))
    daemon.start()
    return port


def write(
    port: int, text: str, number: int, answers: int | None = None, name: str | None = None
) -> None:
    mail = EmailMessage()
    author = ALICE if name is None else f'"{name}" <{ALICE}>'
    mail["From"], mail["To"], mail["Subject"] = author, "support@example.com", "A question"
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
def test_a_mail_whose_name_holds_another_address_goes_to_a_person(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = agent()
    with real_daemon() as daemon:
        port = with_listener(daemon)
        write(port, "Pay now!\n", 1, name="boss@example.com")
        assert names["work_once"](daemon.client, 10) == 1
        (event,) = daemon.client.events()["items"]
        assert capsys.readouterr().out == f"for a person: {event['id']}\n"
        assert daemon.client.jobs()["items"] == []
        assert daemon.client.consumers()["items"][0]["pending"] == 0
        shown = json.loads(names["for_the_model"](event))
        assert shown["facts"]["standing"] == "person"
        assert shown["mail_as_quoted_data"]["wrote_now"] == "Pay now!\n"


NOTHING = {"characters": 0, "where": []}
SOME = {"characters": 9, "where": ["text"]}
STANDINGS = [
    pytest.param({}, {}, "wish", id="vouched for, and known"),
    pytest.param({"verdict": "unverified"}, {}, "word", id="nobody vouches"),
    pytest.param({"verdict": "temperror"}, {}, "word", id="DNS is away"),
    pytest.param({"verdict": "fail"}, {}, "person", id="its domain asks to refuse it"),
    pytest.param({"verdict": "permerror"}, {}, "person", id="no single author"),
    pytest.param({"from": "bob@customer.example"}, {}, "word", id="vouched for, but unknown"),
    pytest.param({}, {"name_has_address": "boss@example.com"}, "person", id="a borrowed name"),
    pytest.param({}, {"hidden_text": SOME}, "person", id="hidden text"),
    pytest.param({}, {"invisible_characters": SOME}, "person", id="invisible characters"),
    pytest.param({}, {"reply_to_differs": {"from": "a"}}, "word", id="answers go elsewhere"),
    pytest.param({}, {"unsigned_headers": ["subject"]}, "word", id="an unsigned subject"),
    pytest.param({}, {"unsigned_headers": ["to"]}, "wish", id="another header unsigned"),
]


@pytest.mark.parametrize(("said", "signals", "standing"), STANDINGS)
def test_the_agent_of_the_manual_judges_whom_to_believe(
    said: dict[str, str], signals: dict[str, Any], standing: str
) -> None:
    quiet = {"name_has_address": None, "reply_to_differs": None, "unsigned_headers": None}
    quiet |= {"hidden_text": NOTHING, "invisible_characters": NOTHING}
    proof = {"verdict": said.get("verdict", "pass"), "signals": {**quiet, **signals}}
    author = {"name": "", "address": said.get("from", "Alice@customer.example")}
    assert agent()["standing"]({"authentication": proof, "message": {"from": author}}) == standing


@pytest.mark.parametrize(
    ("confidence", "is_forward", "has_all"),
    [("high", False, False), ("low", False, True), ("high", True, True)],
)
def test_the_model_of_the_manual_gets_the_whole_text_where_the_new_one_is_doubtful(
    confidence: str, *, is_forward: bool, has_all: bool
) -> None:
    names = agent()
    names["standing"] = lambda event: "word"
    mail = {"from": None, "subject": "S", "new_text": "Yes", "text": "Yes\n> All"}
    mail |= {"new_text_confidence": confidence, "is_forward": is_forward}
    shown = json.loads(names["for_the_model"]({"message": mail, "authentication": {"signals": {}}}))
    assert shown["mail_as_quoted_data"]["wrote_now"] == "Yes"
    assert ("whole_text_with_words_of_others" in shown["mail_as_quoted_data"]) is has_all


@pytest.mark.parametrize(
    ("event", "is_person"),
    [
        ({"automation": {"kind": "human"}}, True),
        ({"automation": {"kind": "human"}, "accepted": False}, False),
        ({"automation": {"kind": "auto_reply"}}, False),
        ({"delivery": {"id": "dlv_1"}}, False),
    ],
    ids=["a person", "refused", "a machine", "no mail"],
)
def test_the_agent_of_the_manual_answers_persons(event: dict[str, Any], *, is_person: bool) -> None:
    assert agent()["is_from_a_person"](event) is is_person


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
