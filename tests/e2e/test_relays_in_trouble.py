"""Relays that refuse a login or a mailbox, are not well or not there (CASES F19, F20, F28): no mail pays for it."""

from pathlib import Path
from typing import Any

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.reason import ReasonCode
from support.post import open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Drop, Raw, Reply


RETRY = "retry = { jitter = 0 }"
ONE_LOGIN = 'auth = "password"\nusername = "box"\npassword = "file:{folder}/password"'


async def test_a_wrong_password_stops_the_relay_and_fails_nobody(tmp_path: Path) -> None:
    """F20: 535 once bounced a whole queue."""
    (tmp_path / "password").write_text("right")
    (tmp_path / "password").chmod(0o600)
    login = ONE_LOGIN.format(folder=tmp_path)
    async with (
        ScriptedRelay(credentials=("box", "right")) as relay,
        open_post(settings(tmp_path, relay.port, mailbox=RETRY, relay=login)) as post,
    ):
        relay.on("auth", Reply("535 5.7.8 Error: authentication failed"))
        jobs = [await post.submit(to=[f"{n}@one.example"]) for n in range(20)]
        await post.quiet()
        dials = len(relay.connections)
        assert dials <= 4, "those that were under way when it was said first"
        await post.run(15 * 60 - 2)
        assert len(relay.connections) == dials
        await post.run(3)
        assert len(relay.connections) == dials + 1
        await post.run(2 * 3600, step=60)
        assert len(relay.connections) <= dials + 5
        for job in jobs:
            found = await post.only(job)
            assert found.state in (DeliveryState.PENDING, DeliveryState.RETRY_SCHEDULED)
            assert found.attempts == 0
        assert '"auth_failed"' in post.log.getvalue()

        relay.clear()
        await post.run(3600, step=60)
        assert all(relay.copies(f"{n}@one.example") == 1 for n in range(20))


async def test_a_login_that_can_not_be_judged_now_is_tried_again_soon(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("right")
    (tmp_path / "password").chmod(0o600)
    login = ONE_LOGIN.format(folder=tmp_path)
    async with (
        ScriptedRelay(credentials=("box", "right")) as relay,
        open_post(settings(tmp_path, relay.port, mailbox=RETRY, relay=login)) as post,
    ):
        relay.on("auth", Reply("454 4.7.0 Temporary authentication failure"), times=1)
        job = await post.submit(to=["a@one.example"])
        await post.run(120, step=5)
        ended = await post.only(job)
        assert (str(ended.state), ended.attempts) == ("sent", 1)


async def test_three_refusals_at_mail_stop_the_mailbox_before_a_backlog_is_lost(
    tmp_path: Path,
) -> None:
    """F19: a row of them is the mailbox's fault, not the recipients'."""
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, mailbox=RETRY + "\nconcurrency = 1")) as post,
    ):
        relay.on("mail", Reply("550 5.7.0 no"))
        jobs = [await post.submit(to=[f"{n}@d{n}.example"]) for n in range(30)]
        await post.run(2 * 3600, step=60)
        states = [str((await post.only(job)).state) for job in jobs]
        assert states.count("failed") == 3
        assert "permanent_storm" in post.log.getvalue()

        relay.clear()
        await post.run(3600, step=60)
        assert sum(relay.copies(f"{n}@d{n}.example") for n in range(30)) == 27


@pytest.mark.parametrize(
    ("stage", "action"),
    [
        ("connect", Drop(is_reset=True)),
        ("connect", Drop()),
        ("connect", Reply("421 4.3.2 Service not available")),
        ("connect", Raw(b"SSH-2.0-OpenSSH_9.2\r\n")),
        ("ehlo", Drop()),
    ],
    ids=["reset", "hung up", "421", "no SMTP", "hung up at EHLO"],
)
async def test_a_relay_that_is_not_well_costs_no_attempt(
    stage: str, action: Any, tmp_path: Path
) -> None:
    """F28."""
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, mailbox=RETRY)) as post,
    ):
        relay.on(stage, action)
        jobs = [await post.submit(to=[f"{n}@one.example"]) for n in range(5)]
        await post.run(3600, step=10)
        for job in jobs:
            found = await post.only(job)
            assert found.state in (DeliveryState.PENDING, DeliveryState.RETRY_SCHEDULED)
            assert found.attempts == 0
        assert len(relay.connections) < 30
        relay.clear()
        await post.run(16 * 60, step=10)
        assert all(relay.copies(f"{n}@one.example") == 1 for n in range(5))


async def test_a_relay_that_is_not_there_at_all_costs_no_attempt(tmp_path: Path) -> None:
    async with ScriptedRelay() as gone:
        port = gone.port
    async with open_post(settings(tmp_path, port, mailbox=RETRY)) as post:
        job = await post.submit(to=["a@one.example"])
        await post.run(3600, step=30)
        waits = await post.only(job)
        assert (str(waits.state), waits.attempts) == ("retry_scheduled", 0)
        assert waits.reason_code is ReasonCode.RELAY_UNREACHABLE
