"""What Prometheus reads of a daemon at work."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from support.inward import free_port
from support.promtool import promtool
from support.real_daemon import RealDaemon, real_daemon


TOKEN = "0123456789abcdef" * 4
MANUAL = Path(__file__).parents[2] / "docs" / "operating.md"


def send_one(daemon: RealDaemon) -> None:
    job = daemon.client.send("support", "ann@example.com", "Hi", "Text.\n")
    daemon.client.wait(job["id"], timeout_s=20)


@contextmanager
def scraped_daemon() -> Iterator[tuple[RealDaemon, str]]:
    """A daemon that has its metrics on TCP too, and where."""
    with real_daemon() as daemon:
        daemon.stop()
        at = f"127.0.0.1:{free_port()}"
        (daemon.folder / "token").write_text(TOKEN)
        (daemon.folder / "token").chmod(0o600)
        with daemon.config.open("a") as settings:
            settings.write(f'[metrics]\nlisten = "{at}"\ntoken = "file:token"\n')
        daemon.start()
        yield daemon, at


def read(at: str, token: str) -> tuple[int, str]:
    connection = HTTPConnection(at, timeout=10)
    try:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_promtool_finds_nothing_wrong_with_the_metrics_of_a_daemon_at_work() -> None:
    with real_daemon() as daemon:
        send_one(daemon)
        daemon.client.make_consumer("agents")
        checked = promtool("check", "metrics", text=daemon.client.metrics())
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_they_are_read_over_tcp_with_the_token_and_not_without() -> None:
    with scraped_daemon() as (daemon, at):
        send_one(daemon)
        status, text = read(at, TOKEN)
        assert status == 200
        sent = 'postroom_deliveries_total{mailbox="support",outcome="sent",reason=""} 1.0'
        assert sent in text.splitlines()
        assert read(at, TOKEN[::-1])[0] == 401
        log = (daemon.folder / "log").read_text()
        assert "peer.refused" in log
        assert TOKEN not in log
        assert daemon.stop() == 0
        with pytest.raises(ConnectionRefusedError):
            read(at, TOKEN)


def test_an_address_that_another_program_has_is_told_at_the_start() -> None:
    with scraped_daemon() as (daemon, at), real_daemon() as second:
        second.stop()
        with second.config.open("a") as settings:
            settings.write(
                f'[metrics]\nlisten = "{at}"\ntoken = "file:{daemon.folder / "token"}"\n'
            )
        said = second.run(second.config)
        assert said.code == 75
        assert "another program listens there" in said.err


def test_promtool_takes_the_scrape_of_the_manual(tmp_path: Path) -> None:
    found = re.search(r"```yaml\n(scrape_configs:.*?)```", MANUAL.read_text("utf-8"), re.DOTALL)
    assert found is not None
    (tmp_path / "token").write_text(TOKEN)
    text = found[1].replace("/etc/prometheus/postroom.token", str(tmp_path / "token"))
    (tmp_path / "prometheus.yml").write_text(text)
    checked = promtool("check", "config", str(tmp_path / "prometheus.yml"))
    assert checked.returncode == 0, checked.stderr
