"""`postroom demo`, as somebody types it."""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.client import Client
from support.real_daemon import POSTROOM, env


@pytest.fixture
def temp() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pr-") as name:
        yield Path(name)


def processes_in(folder: Path) -> list[str]:
    """The command lines of processes that name this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in line:
            found.append(line.decode(errors="replace"))
    return found


def start(temp: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*POSTROOM, "demo"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env(TMPDIR=str(temp), PYTHONUNBUFFERED="1"),
    )


def test_the_demo_keeps_every_promise_within_30_seconds(temp: Path) -> None:
    begin = time.perf_counter()
    demo = start(temp)
    out, err = demo.communicate(timeout=40)
    assert demo.returncode == 0, out + err
    assert time.perf_counter() - begin < 30
    assert err == ""
    assert len([line for line in out.splitlines() if line.startswith("ok  ")]) == 14
    for said in (
        "451 Try again later",
        "550 5.1.1 User unknown",
        "queued 0, already 4",
        "at try 3",
        'reply.received       ann@customer.example: "Yes, the northern figures please, by Friday." (reply_token, pass)',
        'message.received     ann@customer.example: "Please pay to my new account." (refused: fail)',
        "auto_reply.received  ben@customer.example",
        "delivery.bounced     cara@customer.example: smtp; 550 5.1.1 User unknown (return_path)",
        "Agent 2 asks: nothing",
        "refused, lease_lost",
        "Re: Which figures do you need?",
    ):
        assert said in out
    assert list(temp.iterdir()) == []
    assert processes_in(temp) == []


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_stopped_leaves_nothing_behind(kind: signal.Signals, temp: Path) -> None:
    demo = start(temp)
    assert demo.stdout is not None
    while "accepted, durable" not in (line := demo.stdout.readline()):
        assert line, demo.communicate()
    demo.send_signal(kind)
    demo.communicate(timeout=20)
    assert demo.returncode == 130
    assert list(temp.iterdir()) == []
    assert processes_in(temp) == []


def test_top_stats_and_explain_tell_the_truth_while_it_runs(temp: Path) -> None:
    demo = start(temp)
    assert demo.stdout is not None
    told: list[str] = []
    while "accepted, durable" not in (line := demo.stdout.readline()):
        assert line, demo.communicate()
        told.append(line)
    (hint,) = (line for line in told if "postroom top --socket" in line)
    client = Client(hint.split()[-1])
    job = client.jobs()["items"][-1]
    delivery = client.job(job["id"])["deliveries"][0]["id"]
    least = sent_by(client)
    shown = json.loads(typed("stats --json", client))
    assert least <= shown["outcomes"].get("sent", 0) <= sent_by(client)
    assert "\nMAILBOX" in typed("top --once", client)
    explained = json.loads(typed(f"explain {delivery} --json", client))
    steps = [step["to"] for step in client.delivery(delivery)["history"]]
    assert (explained["delivery_id"], explained["state"] in steps) == (delivery, True)
    out, err = demo.communicate(timeout=40)
    assert demo.returncode == 0, out + err
    assert all(verb in out for verb in ("postroom top` shows", "`stats`", "`explain ID`"))


def sent_by(client: Client) -> int:
    """How many deliveries are sent by now, counted one by one."""
    return sum(1 for _ in client.every(client.deliveries, state="sent"))


def typed(words: str, client: Client) -> str:
    """What the command line prints."""
    argv = [*POSTROOM, *words.split(), "--socket", client.socket]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False, env=env())
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
