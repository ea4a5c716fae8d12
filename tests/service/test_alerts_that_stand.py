"""Alerts in the running daemon: raised, told and cleared, whatever became of what they are about."""

import json
from pathlib import Path
from socket import gethostname

from postroom.core.alert import AlertKind
from postroom.core.alertstate import Moves
from postroom.core.ids import Kind, encode_id
from postroom.ports.submitting import RefusalCode, RefusalKind, Refused
from support.post import Post, open_post, setting, settings
from support.raised import DOWN, failing, raised
from support.relay import ScriptedRelay


K = AlertKind
SECOND_BOX = """
[relay.other]
host = "127.0.0.1"
port = {port}
tls = "none"
[[mailbox]]
id = "second"
address = "second@example.com"
relay = "other"
"""
OWNED = 'owner = "ops@example.com"\nretry = { first_s = 300, jitter = 0 }'


async def test_a_relay_that_is_down_is_told_through_the_second_mailbox(tmp_path: Path) -> None:
    """All real: the breaker opens, five minutes pass, the mail arrives by the other relay, and the relay's return is told."""
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, 1, mailbox=OWNED, more=SECOND_BOX.format(port=relay.port))
        async with open_post(said, store=setting(min_free_bytes=1 << 20)) as post:
            await post.submit(to=["ann@example.com"])
            keeper = post.loop.get_loop().create_task(post.joined.alerts.run())
            try:
                await _pass_minutes(post, 12)
                await relay.until(lambda: relay.copies("ops@example.com") == 1)
            finally:
                keeper.cancel()
            (mail,) = relay.transactions
            assert b"Alert: relay down: relay main" in mail.content
            assert b"Auto-Submitted: auto-generated" in mail.content
            assert f"Postroom on {gethostname()}. ".encode() in mail.content
            assert mail.sender == "second@example.com"
            stats = await post.joined.api.signals.stats()
            assert [one.alert.key.kind for one in stats.alerts] == [K.RELAY_DOWN]
            text = await post.joined.api.signals.metrics_text()
            assert 'postroom_alerts{kind="relay_down",scope="relay"} 1.0' in text
            assert 'postroom_alerts{kind="disk_low",scope="daemon"} 0.0' in text
    lines = [json.loads(line) for line in post.log.getvalue().splitlines()]
    (line,) = [one for one in lines if one["event"] == "alert.raised"]
    assert (line["level"], line["kind"], line["cause"]) == ("error", "relay_down", "relay_gone")


async def test_what_stands_of_a_mailbox_that_left_the_settings_is_cleared(tmp_path: Path) -> None:
    """Of a relay that nobody uses any more, too: both are not judged, as if they were well."""
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, 1, mailbox=OWNED, more=SECOND_BOX.format(port=relay.port))
        async with open_post(said, store=setting(min_free_bytes=1 << 20)) as post:
            await post.outbox.alerts.move(
                Moves((raised(failing("support")).alert, raised(DOWN).alert)), post.clock.now()
            )
            alerts = post.joined.alerts
            alerts.restore(await post.outbox.alerts.find_raised())
            keeper = post.loop.get_loop().create_task(alerts.run())
            try:
                path = tmp_path / "postroom.toml"
                text = path.read_text()
                second = SECOND_BOX.format(port=relay.port)
                path.write_text(text[: text.index("[relay.main]")] + second)
                await post.reload()
                await _pass_minutes(post, 90)
            finally:
                keeper.cancel()
            assert alerts.raised() == ()
            assert await post.outbox.alerts.find_raised() == ()
            text = await post.joined.api.signals.metrics_text()
            assert 'relay="main"' not in text
            of_support = [line for line in text.splitlines() if 'mailbox="support"' in line]
            assert all("_total{" in line for line in of_support), "what was counted stays counted"
    lines = [json.loads(line) for line in post.log.getvalue().splitlines()]
    over = [one for one in lines if one["event"] == "alert.cleared"]
    assert {(one["level"], one["kind"]) for one in over} == {
        ("info", "failures_clustering"),
        ("info", "relay_down"),
    }


async def test_a_clock_that_jumped_is_an_alert_until_somebody_believes_it(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox=OWNED)
        async with open_post(said, store=setting(min_free_bytes=1 << 20)) as post:
            alerts = post.joined.alerts
            keeper = post.loop.get_loop().create_task(alerts.run())
            try:
                post.clock.jump(30 * 86_400)
                await post.pass_until(lambda: alerts.raised() != ())
                assert [one.alert.key.kind for one in alerts.raised()] == [K.CLOCK_JUMPED]
                post.joined.trust.confirm()
                await post.pass_until(lambda: alerts.raised() == ())
            finally:
                keeper.cancel()


async def test_an_alert_is_read_from_the_log_and_not_answered(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        (one,) = await post.outbox.alerts.move(Moves((raised(DOWN).alert,)), post.clock.now())
        asked = {"in_reply_to_event": encode_id(Kind.EVENT, one.seq), "text": "Why?"}
        for more in ({}, {"mailbox_id": "support"}):
            made = await post.joined.api.submitter.submit(asked | more, 1000)
            assert isinstance(made, Refused)
            assert (made.kind, made.code) == (RefusalKind.WRONG, RefusalCode.REPLY_TARGET)


async def _pass_minutes(post: Post, minutes: int) -> None:
    for _ in range(minutes * 4):
        await post.run(15)
