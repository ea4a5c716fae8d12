"""What Prometheus reads of a daemon at work."""

from support.promtool import promtool
from support.real_daemon import real_daemon


def test_promtool_finds_nothing_wrong_with_the_metrics_of_a_daemon_at_work() -> None:
    with real_daemon() as daemon:
        client = daemon.client
        job = client.send("support", "ann@example.com", "Hi", "Text.\n")
        client.wait(job["id"], timeout_s=20)
        checked = promtool("check", "metrics", text=client.metrics())
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
