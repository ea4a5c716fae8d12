"""What goes wrong on an ordinary day (SCENARIOS B), with every part of the daemon but its socket."""

import asyncio
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.reason import ReasonCode
from postroom.outbound.pool import Pool
from postroom.outbound.timeouts import Timeouts
from postroom.ports.desk import Actor
from postroom.ports.submitting import Repeated, Submitted
from postroom.service import joined
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.clock import FakeClock
from support.post import UID, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Default, Drop, Hold, Reply


WHO = "a@one.example"
PLAIN = {"to": [WHO], "idempotency_key": "k"}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relay has a tenth of a second for each reply, but all the time after the dot."""
    timeouts = Timeouts(command=timedelta(seconds=0.1), data=timedelta(seconds=0.1))
    monkeypatch.setattr(joined, "Pool", lambda relay, name, _: Pool(relay, name, timeouts))


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("stage", ["mail", "rcpt", "data"])
async def test_a_relay_that_times_out_once_is_tried_again_after_the_backoff(
    stage: str, tmp_path: Path
) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        relay.on(stage, Hold(), times=1)
        job = await post.submit(**PLAIN)
        await post.quiet()
        waits = await post.only(job)
        assert (waits.state, waits.attempts) == (DeliveryState.RETRY_SCHEDULED, 1)
        assert waits.due_at == post.clock.now() + 300_000_000
        await post.run(299)
        assert (await post.only(job)).attempts == 1
        await post.run(2)
        ended = await post.only(job)
        assert (ended.state, ended.attempts) == (DeliveryState.SENT, 2)
        assert relay.copies(WHO) == 1


async def test_a_relay_that_keeps_failing_makes_a_dead_letter_after_five_attempts(
    tmp_path: Path,
) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        relay.on("rcpt", Reply("451 4.3.0 out of order"))
        job = await post.submit(**PLAIN)
        await post.run(76 * 60, step=60)
        ended = await post.only(job)
        assert (ended.state, ended.attempts) == (DeliveryState.FAILED, 5)
        assert (ended.reason_code, ended.reply_code) == (ReasonCode.EXPIRED, 451)
        letters = await post.outbox.reader.find_dead(None, None, 10)
        assert [one.number for one in letters.items] == [ended.number]
        events = await post.outbox.reader.find_events(0, 10)
        assert [(one.type, one.mailbox_id) for one in events] == [("delivery.failed", "support")]
        await post.run(3 * 24 * 3600, step=3600)
        assert (await post.only(job)).attempts == 5


async def test_what_the_relay_called_the_mail_is_kept(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        relay.on("dot", Reply("250 2.0.0 Ok: queued as 4ABCdef"))
        job = await post.submit(**PLAIN)
        await post.quiet()
        ended = await post.only(job)
        assert (str(ended.state), ended.relay_message_id) == ("sent", "4ABCdef")


async def test_a_job_that_makes_no_sense_is_refused_whole_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        wrong = await post.problems(
            to=["not an address"], subject="a\r\nBcc: x@y.example", nonsense=1
        )
        assert {one.pointer for one in wrong} == {"/to/0", "/subject", "/nonsense"}
        await post.run(3600)
        assert await post.outbox.reader.count_by_state() == {}
        assert not relay.connections


async def test_a_message_that_the_relay_will_not_have_fails_at_its_first_attempt(
    tmp_path: Path,
) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        relay.on("dot", Reply("554 5.6.0 I can not read this"))
        job = await post.submit(**PLAIN)
        await post.run(24 * 3600, step=3600)
        ended = await post.only(job)
        assert (str(ended.state), ended.attempts) == ("failed", 1)
        assert len(relay.transactions) == 1


async def test_the_same_job_twice_at_once_and_after_a_restart_is_sent_once(tmp_path: Path) -> None:
    clock = FakeClock()
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port)
        async with open_post(said, clock=clock) as post, asyncio.TaskGroup() as group:
            tasks = [group.create_task(post.hand_in(**PLAIN)) for _ in range(20)]
            made = [await one for one in tasks]
            assert sum(isinstance(one, Submitted) for one in made) == 1
            await post.quiet()
            assert isinstance(await post.hand_in(**PLAIN), Repeated)
        async with open_post(said, clock=clock) as post:
            again = await post.hand_in(**PLAIN)
            assert isinstance(again, Repeated)
            await post.run(3600)
            assert await post.states(again.number) == {WHO: "sent"}
        assert relay.copies(WHO) == 1


async def test_an_upload_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        (problem,) = await post.problems(**PLAIN, attachments=[{"ref": "att_0000000000000"}])
        assert problem.pointer == "/attachments/0/ref"
        (problem,) = await post.problems(
            **PLAIN, attachments=[{"path": str(tmp_path / "gone.pdf")}]
        )
        assert problem.pointer == "/attachments/0/path"
        await post.quiet()
        assert not relay.connections


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, ReasonCode.ATTACHMENT_MISSING), (b"other", ReasonCode.ATTACHMENT_CHANGED)],
    ids=["gone", "another"],
)
async def test_a_pinned_file_that_is_gone_or_another_is_never_sent_and_the_relay_is_not_dialled(
    content: bytes | None, reason: ReasonCode, tmp_path: Path
) -> None:
    file = tmp_path / "report.pdf"
    file.write_bytes(b"first")
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        job = await post.submit(
            **PLAIN,
            attachments=[{"path": str(file), "pin": True}],
            send_at="2025-12-01T07:10:00Z",
        )
        file.unlink()
        if content is not None:
            file.write_bytes(content)
        await post.run(660)
        ended = await post.only(job)
        assert (str(ended.state), ended.reason_code) == ("failed", reason)
        assert ended.attempts == 0
        assert not relay.connections
        events = await post.outbox.reader.find_events(0, 10)
        assert [one.type for one in events] == ["delivery.failed"]


async def test_a_burst_over_the_limit_is_paced_and_nothing_fails(tmp_path: Path) -> None:
    pace = "pace = { per_second = 2, burst = 5, per_minute = 60 }"
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, mailbox=pace)) as post,
    ):
        to = [f"r{n}@d{n % 3}.example" for n in range(90)]
        job = await post.submit(to=to)
        await post.quiet()
        assert len(relay.transactions) == 5
        for second in range(1, 10):
            await post.run(1, step=0.5)
            assert len(relay.transactions) == 5 + 2 * second
        await post.run(40, step=5)
        assert len(relay.transactions) == 60 - 6, "a tenth of per_minute is for high alone"
        await post.run(120, step=5)
        found = await post.deliveries(job)
        assert {(str(one.state), one.attempts) for one in found.values()} == {("sent", 1)}
        assert all(relay.copies(who) == 1 for who in to)


async def test_a_row_that_can_not_be_read_is_set_aside_and_the_rest_goes_on(tmp_path: Path) -> None:
    """A poison job: it must not stop the loop, whoever damaged it."""

    def spoil(conn: sqlite3.Connection) -> UnitResult[None]:
        conn.execute("UPDATE body SET segments = 'not json' WHERE number = 1")
        return UnitResult(None)

    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        job = await post.submit(**PLAIN, send_at="2025-12-01T07:10:00Z")
        fine = await post.submit(to=["b@one.example"], send_at="2025-12-01T07:10:00Z")
        await post.outbox.database.write(spoil, lane=WriteLane.REST)
        await post.run(660)
        assert await post.states(job) == {WHO: "held"}
        assert await post.states(fine) == {"b@one.example": "sent"}
        assert post.log.getvalue().count('"event": "delivery.quarantined"') == 1


@pytest.mark.parametrize("is_reset", [False, True], ids=["closed", "reset"])
async def test_a_relay_that_is_gone_after_the_dot_leaves_doubt_and_no_second_mail(
    *, is_reset: bool, tmp_path: Path
) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        relay.on("dot", Drop(is_reset=is_reset), times=1)
        job = await post.submit(**PLAIN)
        await post.run(7 * 24 * 3600, step=6 * 3600)
        ended = await post.only(job)
        assert (str(ended.state), ended.reason_code) == ("uncertain", ReasonCode.DOUBT_NO_ANSWER)
        assert relay.copies(WHO) == 1
        letters = await post.outbox.reader.find_dead(None, None, 10)
        assert [one.number for one in letters.items] == [ended.number]


async def test_a_pause_between_start_and_mark_stops_the_mail_and_a_resume_sends_it(
    tmp_path: Path,
) -> None:
    hold = Hold()
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        relay.on("data", hold, Default(), times=1)
        job = await post.submit(**PLAIN)
        await relay.until(lambda: bool(relay.transactions))
        post.clock.advance(5)
        admin, who = post.outbox.admin, Actor(UID)
        await admin.pause("support", "a test", who, post.clock.now())
        hold.release()
        await post.run(600, step=60)
        waits = await post.only(job)
        assert (waits.state, waits.attempts) == (DeliveryState.PENDING, 0)
        assert relay.copies(WHO) == 0
        await admin.resume("support", who, post.clock.now())
        await post.quiet()
        assert await post.states(job) == {WHO: "sent"}
        assert relay.copies(WHO) == 1
