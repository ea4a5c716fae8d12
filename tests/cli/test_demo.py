"""What the demo says, and that it fails when something is not as promised."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from postroom.cli import demo, demo_talk
from postroom.cli.demo_people import AWAY, MOVED, PERSON, SAID, SAID_ID
from postroom.cli.demo_relay import BUSY, CUT_OFF, DELETED, Mail, Relay
from postroom.cli.demo_stage import Stage
from postroom.cli.demo_watch import Watch
from postroom.client import Client
from support.cli_mail_out import brief
from support.fake_daemon import FakeDaemon, fake_daemon
from support.fake_host import FakeHost


START = datetime(2026, 11, 30, 7, tzinfo=UTC)


def at(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def step(after: str, seconds: float, **more: Any) -> dict[str, Any]:
    """A row of history."""
    row = {"from": "sending", "to": after, "at": at(seconds), "reason_code": None, "attempt": 1}
    return {**row, "by": "loop", **more}


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[FakeDaemon]:
    with fake_daemon(tmp_path) as running:
        yield running


@pytest.fixture
def watch(daemon: FakeDaemon) -> Watch:
    host = FakeHost()
    alive = SimpleNamespace(check_daemon=lambda: None)
    alive.client = Client(str(daemon.socket), host=host)
    alive.host = host
    return Watch(cast("Stage", alive), START)


def test_every_step_is_shown_once_with_its_reason(
    daemon: FakeDaemon, watch: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    away = step("retry_scheduled", 0.1, reply_code=451, reply_text="Try again later")
    sent = step("sent", 1.2, reply_code=250, reply_text="Ok\x1b[2J", attempt=2)
    waits = brief(1, BUSY, "retry_scheduled", next_attempt_at=at(1.1), history=[away])
    done = brief(1, BUSY, "sent", attempts=2, history=[away, step("sending", 1.1), sent])
    daemon.on("GET /v1/deliveries/dlv_1", waits, waits, done)
    gone = step("failed", 0.05, reply_code=550, enhanced_status="5.1.1", reply_text="User unknown")
    daemon.on("GET /v1/deliveries/dlv_2", brief(2, DELETED, "failed", history=[gone]))
    assert watch.until_settled(["dlv_1", "dlv_2"], until_s=10)
    assert capsys.readouterr().out.splitlines() == [
        "  0.05 s  old.manager@example.com  failed           refused for good, never tried again: 550 5.1.1 User unknown",
        "  0.10 s  ops@example.com          retry_scheduled  451 Try again later; tried again in 1.0 s",
        "  1.20 s  ops@example.com          sent             at try 2: 250 Ok\\x1b[2J",
    ]


def test_watching_ends_when_its_time_is_over(daemon: FakeDaemon, watch: Watch) -> None:
    daemon.on("GET /v1/deliveries/dlv_1", brief(1, BUSY, "pending", history=[]))
    assert not watch.until_settled(["dlv_1"], until_s=1)


BOOK = hashlib.sha256(b"region,sum\nnorth,1200\nsouth,950\n").hexdigest()


def held(letters: int = 24, *, code_at: int = 3, book: str = BOOK) -> Relay:
    """A relay that holds what it should hold, or not quite."""
    relay = Relay()
    people = ("finance@example.com", BUSY, CUT_OFF)
    relay.mails = [Mail(who, "Sales report, September 2026", book) for who in people]
    relay.mails += [Mail(f"reader{n}@c.example", "Our autumn letter", None) for n in range(letters)]
    relay.mails.insert(code_at, Mail("ann@customer.example", "Your sign-in code", None))
    relay.tries = {"finance@example.com": 1, BUSY: 3, DELETED: 1, CUT_OFF: 2}
    return relay


AGAIN = {"queued": 0, "already": 4, "more": 0}


@pytest.mark.parametrize(
    ("relay", "again", "is_settled", "code"),
    [
        (held(), AGAIN, True, 0),
        (held(), AGAIN, False, 70),
        (held(), {**AGAIN, "more": 3}, True, 70),
        (held(), {**AGAIN, "queued": 4}, True, 70),
        (held(23), AGAIN, True, 70),
        (held(25), AGAIN, True, 70),
        (held(code_at=27), AGAIN, True, 70),
        (held(book="0" * 64), AGAIN, True, 70),
    ],
    ids=[
        "as promised",
        "not settled",
        "sent twice",
        "queued again",
        "a letter lost",
        "a letter too many",
        "the code came last",
        "another attachment",
    ],
)
def test_it_fails_when_something_is_not_as_promised(
    relay: Relay,
    again: dict[str, int],
    is_settled: bool,  # noqa: FBT001 - a column of the table
    code: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert demo._conclude(demo._promises(relay, again, is_settled=is_settled)) == code
    assert ("failed  " in capsys.readouterr().out) == bool(code)


def talk(**more: Any) -> demo_talk.Talk:
    """What came of the second part, as promised but for `more`."""
    asked = {
        "deliveries": [
            {"id": f"dlv_{n}", "recipient": who, "thread_id": f"thr_{n}"}
            for n, who in enumerate((PERSON, AWAY, MOVED), start=1)
        ]
    }
    fields: dict[str, Any] = {
        "asked": asked,
        "came": [reply(), AWAY_EVENT, FORGERY],
        "first": [lease(1)],
        "second": [],
        "late": "lease_lost",
        "taken_over": [lease(2)],
        "answers": [Mail(PERSON, "Re: x", None, in_reply_to=SAID_ID)],
        "feedback": {PERSON: "sent replied", AWAY: "sent none", MOVED: "sent bounced"},
    }
    return demo_talk.Talk(**{**fields, **more})


def reply(thread: str = "thr_1", text: str = f"{SAID}\n", by: str = "reply_token") -> Any:
    metadata = {"agent_run_id": "run_789"}
    return {
        "id": "evt_1",
        "type": "reply.received",
        "thread": {"id": thread, "matched_by": by, "metadata": metadata},
        "message": {"new_text": text},
        **judged("human", "pass"),
    }


def judged(kind: str, verdict: str) -> dict[str, Any]:
    return {"automation": {"kind": kind}, "authentication": {"verdict": verdict}}


def lease(fence: int, *events: str) -> Any:
    return {
        "id": f"lse_{fence}",
        "fence": fence,
        "events": [{"id": e} for e in events or ["evt_1"]],
    }


AWAY_EVENT = {"id": "evt_2", "type": "auto_reply.received", **judged("auto_reply", "pass")}
FORGERY = {"id": "evt_3", "type": "message.received", **judged("human", "fail")}
BELIEVED = {"id": "evt_3", "type": "message.received", **judged("human", "pass")}
ANSWER = Mail(PERSON, "Re: x", None, in_reply_to=SAID_ID)


@pytest.mark.parametrize(
    ("more", "broken"),
    [
        ({}, 0),
        ({"came": [reply("thr_9"), AWAY_EVENT, FORGERY]}, 1),
        ({"came": [reply(by="subject"), AWAY_EVENT, FORGERY]}, 1),
        ({"came": [reply(text=f"{SAID}\n> quoted\n"), AWAY_EVENT, FORGERY]}, 1),
        ({"came": [reply(), FORGERY]}, 1),
        ({"came": [reply(), AWAY_EVENT, BELIEVED]}, 1),
        ({"came": []}, 3),
        ({"first": [lease(1, "evt_1", "evt_2")]}, 1),
        ({"feedback": {PERSON: "sent replied", AWAY: "sent none", MOVED: "sent none"}}, 1),
        ({"second": [lease(3)]}, 1),
        ({"late": ""}, 1),
        ({"taken_over": [lease(1)]}, 1),
        ({"answers": []}, 1),
        ({"answers": [ANSWER, ANSWER]}, 1),
    ],
    ids=[
        "as promised",
        "another conversation",
        "found by its subject",
        "the quote is in it",
        "no out-of-office",
        "a forger is believed",
        "nothing came",
        "an agent was woken by a machine",
        "no bounce",
        "two holders",
        "a stale fence was good enough",
        "the fence did not rise",
        "no answer went",
        "the answer went twice",
    ],
)
def test_it_fails_when_answers_are_not_as_promised(more: dict[str, Any], broken: int) -> None:
    assert [one.is_kept for one in demo_talk.promises(talk(**more))].count(False) == broken
