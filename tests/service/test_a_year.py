"""A year of mail on a clock that the test moves: what is old goes, and the disk is as large at its end as in its middle."""

from pathlib import Path

from postroom.service.housekeeping import Housekeeping
from support.post import Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Reply


DAY = 86_400
KEPT = """
[retention]
sent_s = 1728000
failed_s = 2592000
events_s = 1728000
[tokens]
expiry_s = 5184000
"""  # 20 days, 30 for what failed, and 60 for what answers need
STEP_DAYS = 5
STEPS = 73  # a year
STEADY = 22  # from then on as much goes in a step as comes
KEYS = 2  # in a step
PAGE_BYTES = 4_096
KEY_BYTES = 200  # what stays of a key for ever, with its share of two indexes


async def _some_days(post: Post, step: int, folder: Path) -> None:
    report = folder / "report.csv"
    report.write_bytes(f"step {step}\n".encode() * 4_000)
    key = {"idempotency_key": f"report-{step}"}
    await post.submit(to=["a@example.com"], attachments=[{"path": str(report)}], **key)
    await post.submit(to=["gone@example.com"], idempotency_key=f"lost-{step}")
    await post.submit(to=["b@example.com"], text="x" * 9_000)
    await post.run(STEP_DAYS * DAY)


def _spool_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in (folder / "state" / "spool").glob("??/*"))


async def test_a_disk_does_not_grow_with_the_years(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        relay.on("rcpt", Reply("550 5.1.1 no such user"), recipient="gone@example.com")
        async with open_post(settings(tmp_path, relay.port, more=KEPT)) as post:
            keeping = Housekeeping(post.tools, post.outbox, post.joined)
            database = tmp_path / "state" / "postroom.db"
            steady = spool = 0
            for step in range(STEPS):
                await _some_days(post, step, tmp_path)
                await keeping.take_old()
                await post.outbox.keep()
                if step == STEADY:
                    steady, spool = database.stat().st_size, _spool_bytes(tmp_path)
            keys = PAGE_BYTES + KEY_BYTES * KEYS * (STEPS - STEADY)
            assert steady > 0
            assert database.stat().st_size <= steady + keys
            assert _spool_bytes(tmp_path) <= spool
            # Nothing was kept back, and nothing was taken too early: what is just as old as may be is there.
            depth = (await post.joined.api.signals.stats()).depth
            sent = sum(n for (_, _, state), n in depth.items() if state == "sent")
            failed = sum(n for (_, _, state), n in depth.items() if state == "failed")
            assert (sent, failed) == (2 * (20 // STEP_DAYS + 1), 30 // STEP_DAYS + 1)
