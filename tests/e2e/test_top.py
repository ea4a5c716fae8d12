"""`postroom top` in a terminal, over a daemon at work."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from support.real_daemon import POSTROOM, RealDaemon, env, real_daemon
from support.terminal import Terminal, terminal


@pytest.fixture(scope="module")
def daemon() -> Iterator[RealDaemon]:
    with real_daemon() as running:
        job = running.client.send("support", "ann@example.com", "Hi", "Text.\n")
        running.client.wait(job["id"], timeout_s=20)
        running.client.pause("support", "a test")
        for _ in range(3):
            running.client.send("support", "ann@example.com", "Hi", "Text.\n", priority="bulk")
        running.client.make_consumer("agents")
        yield running


def words(daemon: RealDaemon, *more: str) -> list[str]:
    return [*POSTROOM, "top", "--every", "0.5", *more, "--socket", daemon.client.socket]


def test_it_shows_what_waits_and_follows_it_until_q(daemon: RealDaemon) -> None:
    with terminal(words(daemon)) as screen:
        before = screen.settings()
        screen.until(lambda lines: any(line.startswith("support  bulk") for line in lines))
        daemon.client.send("support", "ann@example.com", "Hi", "Text.\n", priority="high")
        screen.until(lambda lines: any(line.startswith("support  high") for line in lines))
        screen.press("q")
        assert screen.end() == 0
        assert screen.seen.startswith("\x1b[?1049h\x1b[?25l")
        assert screen.seen.rstrip("\r\n").endswith("\x1b[?25h\x1b[?1049l")
        assert screen.settings() == before


def test_m_sorts_by_the_next_measure(daemon: RealDaemon) -> None:
    with terminal(words(daemon)) as screen:
        for order in ("name", "waiting", "longest due", "sent", "name"):
            wanted = f"sorted by {order}"
            screen.until(lambda lines, wanted=wanted: wanted in lines[0])
            screen.press("m")


def test_it_fits_into_the_terminal_whatever_its_size(daemon: RealDaemon) -> None:
    with terminal(words(daemon), 100, 40) as screen:
        screen.until(lambda lines: max(map(len, lines)) > 40)
        screen.resize(30, 6)
        small = screen.until(lambda lines: len(lines) == 6)
        assert max(map(len, small)) <= 30
        assert small[-1].startswith("... ")
        screen.resize(100, 40)
        screen.until(lambda lines: max(map(len, lines)) > 40)


def test_an_interrupt_ends_it_with_130_and_gives_the_terminal_back(daemon: RealDaemon) -> None:
    with terminal(words(daemon)) as screen:
        before = screen.settings()
        screen.until(bool)
        screen.process.send_signal(signal.SIGINT)
        assert screen.end() == 130
        assert "\x1b[?25h\x1b[?1049l" in screen.seen
        assert screen.settings() == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_it_gives_the_terminal_back(number: int, daemon: RealDaemon) -> None:
    with terminal(words(daemon)) as screen:
        before = screen.settings()
        screen.until(bool)
        screen.process.send_signal(number)
        assert screen.end() == -number
        assert screen.seen.rstrip("\r\n").endswith("\x1b[?25h\x1b[?1049l")
        assert screen.settings() == before


def test_while_it_is_stopped_the_terminal_is_as_it_was_and_then_it_goes_on(
    daemon: RealDaemon,
) -> None:
    with terminal(words(daemon)) as screen:
        before = screen.settings()
        screen.until(bool)
        for taken in (2, 3):
            screen.process.send_signal(signal.SIGTSTP)
            assert os.WIFSTOPPED(os.waitpid(screen.process.pid, os.WUNTRACED)[1])
            assert screen.settings() == before
            screen.process.send_signal(signal.SIGCONT)
            screen.until(lambda _, n=taken: screen.seen.count("\x1b[?1049h") == n)
        assert screen.settings() != before
        screen.press("q")
        assert screen.end() == 0
        assert screen.seen.count("\x1b[?1049l") == 3
        assert screen.settings() == before


def test_without_a_terminal_it_prints_one_screen(daemon: RealDaemon) -> None:
    done = run(words(daemon))
    assert done.returncode == 0
    assert "support  bulk      3" in done.stdout
    assert "\x1b" not in done.stdout


def test_with_json_it_prints_one_line_each_time(daemon: RealDaemon) -> None:
    once = run(words(daemon, "--json", "--once"))
    assert json.loads(once.stdout)["mailboxes"]["support"]["depth"]["bulk"] == {"pending": 3}
    with subprocess.Popen(
        words(daemon, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env()
    ) as going:
        assert going.stdout is not None
        assert [json.loads(going.stdout.readline())["slots"] for _ in range(2)] == [200, 200]
        going.send_signal(signal.SIGINT)
        going.communicate(timeout=30)
        assert going.returncode == 130


def test_a_daemon_that_goes_away_is_said_and_waited_for() -> None:
    with real_daemon() as own, terminal(words(own)) as screen:
        screen.until(lambda lines: "sorted by" in lines[0])
        own.stop()
        screen.until(lambda lines: "AS IT WAS: no daemon" in lines[0])
        own.start()
        screen.until(lambda lines: "sorted by" in lines[0])
        finish(screen)


def test_where_there_is_no_daemon_it_says_so_and_ends(daemon: RealDaemon) -> None:
    nowhere = str(daemon.folder / "nowhere")
    done = run([*POSTROOM, "top", "--once", "--socket", nowhere])
    assert done.returncode == 75
    assert "no daemon" in done.stderr


def finish(screen: Terminal) -> None:
    screen.press("q")
    assert screen.end() == 0


def run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=env(),
    )
