"""An alert of a real daemon: in its log, in the events, in stats, and in the owner's hands by way of the second mailbox."""

from collections.abc import Iterator
from contextlib import contextmanager

from support.real_daemon import RealDaemon, real_daemon


OWNER = "owner@example.com"
CAPPED = f'owner = "{OWNER}"\npace = {{ per_day = 1 }}\n'
SECOND = '[[mailbox]]\nid = "second"\naddress = "second@example.com"\nrelay = "second"\n'
RELAY = '[relay.second]\nhost = "127.0.0.1"\nport = {port}\ntls = "none"\n'


@contextmanager
def capped_daemon() -> Iterator[RealDaemon]:
    """One whose first mailbox has used up its day, at the start of another run."""
    with real_daemon() as daemon:
        daemon.stop()
        with daemon.config.open("a") as settings:
            settings.write(CAPPED + RELAY.format(port=daemon.relay.port) + SECOND)
        daemon.start()
        job = daemon.client.send("support", "ann@example.com", "Hi", "Text.\n")
        assert daemon.client.wait(job["id"], timeout_s=20)["status"] == "completed"
        daemon.stop()
        daemon.start()
        yield daemon


def test_an_alert_is_told_everywhere_and_a_restart_tells_it_once() -> None:
    with capped_daemon() as daemon:
        log = daemon.client.follow("0")
        raised = next(event for event in log if event["type"] == "alert.raised")
        assert raised["alert"]["kind"] == "cap_near"
        told = next(event for event in log if event.get("delivery", {}).get("recipient") == OWNER)
        assert (told["type"], told["mailbox_id"]) == ("delivery.sent", "second")
        daemon.stop()
        daemon.start()
        (standing,) = daemon.json("stats")["alerts"]
        assert standing["event_id"] == raised["id"]
        assert "cap_near" in daemon.cli("stats").out
        assert raised["alert"]["means"] in daemon.cli("show", raised["id"]).out
        types = [event["type"] for event in daemon.client.events()["items"]]
        assert types.count("alert.raised") == 1
        assert len(daemon.client.jobs()["items"]) == 2
        text = (daemon.folder / "log").read_text()
        assert text.count('"event": "alert.raised"') == 1
