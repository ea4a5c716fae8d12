"""The report outbox (SCENARIOS A): its whole timeline, minute by minute, with every part of the daemon but its socket."""

import base64
from email import message_from_bytes, policy
from pathlib import Path

from postroom.core.delivery import DeliveryState
from postroom.core.reason import ReasonCode
from postroom.ports.submitting import Merged, Repeated
from support.post import Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Drop, Reply


FINANCE, OPS, OLD, CEO = (f"{who}@example.com" for who in ("finance", "ops", "old.manager", "ceo"))
WORKBOOK = b"PK\x03\x04 november \xff\x00 " * 400


def report(folder: Path, *to: str, period: str = "2025-11") -> dict[str, object]:
    """The job as the report's program writes it, each time it runs."""
    return {
        "to": list(to or (FINANCE, OPS, OLD, CEO)),
        "subject": f"Report {period}",
        "attachments": [{"path": str(folder / "report.xlsx")}],
        "idempotency_key": f"report-{period}",
        "on_duplicate": "merge",
    }


async def test_the_report_reaches_who_can_be_reached_once_and_says_why_of_the_rest(
    tmp_path: Path,
) -> None:
    file = tmp_path / "report.xlsx"
    file.write_bytes(WORKBOOK)
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port)) as post,
    ):
        relay.on("rcpt", Reply("550 5.1.1 User unknown"), recipient=OLD)
        relay.on("rcpt", Reply("451 4.3.0 Try again later"), recipient=OPS, times=2)

        # 07:00: queued, and queued once more by a rerun; the file changes afterwards
        job = await post.submit(**report(tmp_path))
        rerun = await post.hand_in(**report(tmp_path))
        assert rerun == Repeated(job, is_expired=False, duplicates_dropped=0, merged=Merged(0, 4))
        file.write_bytes(b"december, half written")
        await post.quiet()
        stands = {FINANCE: "sent", OPS: "retry_scheduled", OLD: "failed", CEO: "sent"}
        assert await post.states(job) == stands
        found = await post.deliveries(job)
        assert found[OPS].due_at == post.clock.now() + 300_000_000
        assert (found[OPS].reply_code, found[OPS].attempts) == (451, 1)

        # 07:01: nothing is due, and a rerun brings nothing back
        await post.run(60)
        assert await post.submit(**report(tmp_path)) == job
        await post.quiet()
        assert await post.states(job) == stands
        assert len(relay.transactions) == 4

        # 07:06: the second 451, and ten minutes more
        await post.run(300)
        ops = (await post.deliveries(job))[OPS]
        assert (ops.state, ops.attempts) == (DeliveryState.RETRY_SCHEDULED, 2)
        assert ops.due_at == post.clock.now() + 600_000_000

        # 07:12: nothing is due
        await post.run(360)
        assert (await post.deliveries(job))[OPS].attempts == 2

        # 07:20: sent
        await post.run(480)
        await _assert_ended(post, job)
        assert await post.states(job) == {**stands, OPS: "sent"}
        assert [relay.copies(who) for who in (FINANCE, OPS, OLD, CEO)] == [1, 1, 0, 1]
        whole = [one for one in relay.transactions if one.is_whole]
        assert len(whole) == 3
        assert all(_attached(one.content) == WORKBOOK for one in whole)


async def _assert_ended(post: Post, job: int) -> None:
    """What anyone can read the next morning."""
    found = await post.deliveries(job)
    assert {who: one.attempts for who, one in found.items()} == {FINANCE: 1, OPS: 3, OLD: 1, CEO: 1}
    old = found[OLD]
    assert (old.reason_code, old.reply_code) == (ReasonCode.RECIPIENT_UNKNOWN, 550)
    assert "User unknown" in (old.reply_text or "")
    codes = [(row.after, row.reply_code, row.attempt) for row in found[OPS].history]
    assert codes == [
        (DeliveryState.PENDING, None, None),
        (DeliveryState.SENDING, None, None),
        (DeliveryState.RETRY_SCHEDULED, 451, 1),
        (DeliveryState.SENDING, None, None),
        (DeliveryState.RETRY_SCHEDULED, 451, 2),
        (DeliveryState.SENDING, None, None),
        (DeliveryState.SENT, 250, 3),
    ]


def _attached(content: bytes | None) -> bytes:
    message = message_from_bytes(content or b"", policy=policy.SMTP)
    (file,) = message.iter_attachments()  # type: ignore[attr-defined]
    return base64.b64decode(file.get_payload())


async def test_a_new_recipient_of_the_rerun_gets_the_first_file_and_nobody_a_second_copy(
    tmp_path: Path,
) -> None:
    file = tmp_path / "report.xlsx"
    file.write_bytes(WORKBOOK)
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        job = await post.submit(**report(tmp_path, FINANCE, CEO))
        await post.quiet()
        file.write_bytes(b"another workbook")
        rerun = await post.hand_in(**report(tmp_path, FINANCE, CEO, OPS))
        assert rerun == Repeated(job, is_expired=False, duplicates_dropped=0, merged=Merged(1, 2))
        await post.quiet()
        assert [relay.copies(who) for who in (FINANCE, CEO, OPS)] == [1, 1, 1]
        assert _attached(relay.transactions[-1].content) == WORKBOOK


async def test_while_the_relay_is_down_nothing_is_lost_and_no_attempt_is_counted(
    tmp_path: Path,
) -> None:
    (tmp_path / "report.xlsx").write_bytes(WORKBOOK)
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        relay.on("connect", Drop())
        job = await post.submit(**report(tmp_path, FINANCE, period="2025-12"))
        (tmp_path / "report.xlsx").unlink()
        await post.run(2 * 3600, step=60)
        waits = await post.only(job)
        assert (waits.state, waits.attempts) == (DeliveryState.RETRY_SCHEDULED, 0)
        assert waits.reason_code is ReasonCode.RELAY_UNREACHABLE
        assert waits.deferrals > 1
        assert len(relay.connections) < 30

        relay.clear()
        await post.run(15 * 60, step=60)
        ended = await post.only(job)
        assert (ended.state, ended.attempts) == (DeliveryState.SENT, 1)
        assert relay.copies(FINANCE) == 1
        assert _attached(relay.transactions[-1].content) == WORKBOOK
