"""What people do while the loop runs: take back, send again, settle, suppress, hold; the loop follows at once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant
from postroom.core.reason import ReasonCode
from postroom.ports.desk import Actor, CancelAnswer, DeliveryFilter, Verdict
from support.clock import FakeClock
from support.post import UID, Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Default, Drop, Hold, Reply


WHO = "a@one.example"
ME = Actor(UID)
FAILED = DeliveryFilter(mailbox_id="support", state=DeliveryState.FAILED)


@asynccontextmanager
async def post_and_relay(folder: Path, **lines: str) -> AsyncIterator[tuple[Post, ScriptedRelay]]:
    async with (
        ScriptedRelay() as relay,
        open_post(settings(folder, relay.port, **lines)) as post,
    ):
        yield post, relay


@pytest.mark.parametrize("stage", ["rcpt", "data"])
async def test_a_cancel_before_the_mark_stops_what_is_under_way(stage: str, tmp_path: Path) -> None:
    hold = Hold()
    async with post_and_relay(tmp_path) as (post, relay):
        relay.on(stage, hold, Default(), times=1)
        job = await post.submit(to=[WHO])
        await relay.until(lambda: bool(relay.transactions))
        (told,) = await post.outbox.admin.cancel_job(job, ME, post.clock.now()) or ()
        assert told.answer is CancelAnswer.CANCELLED
        hold.release()
        await post.run(3600, step=600)
        assert await post.states(job) == {WHO: "cancelled"}
        assert relay.copies(WHO) == 0


@pytest.mark.parametrize(
    ("says", "state"),
    [("250 ok", "sent"), ("451 later", "cancelled"), ("550 no", "failed")],
)
async def test_a_cancel_after_the_mark_is_too_late_but_stops_the_next_attempt(
    says: str, state: str, tmp_path: Path
) -> None:
    hold = Hold()
    async with post_and_relay(tmp_path) as (post, relay):
        relay.on("dot", hold, Reply(says), times=1)
        job = await post.submit(to=[WHO])
        await relay.until(lambda: relay.copies(WHO) == 1)
        (told,) = await post.outbox.admin.cancel_job(job, ME, post.clock.now()) or ()
        assert told.answer is CancelAnswer.TOO_LATE
        hold.release()
        await post.run(3600, step=600)
        assert await post.states(job) == {WHO: state}
        assert len(relay.transactions) == 1


async def test_what_waits_for_its_time_is_moved_to_and_fro(tmp_path: Path) -> None:
    async with post_and_relay(tmp_path) as (post, relay):
        now = post.clock.now()
        job = await post.submit(to=[WHO], send_at="2025-12-01T08:00:00Z")
        await post.quiet()
        move = post.outbox.admin.reschedule_job
        await move(job, Instant(now + 7200 * SECOND), ME, now)
        await post.run(3700, step=100)
        assert await post.states(job) == {WHO: "pending"}
        await move(job, Instant(now + 3800 * SECOND), ME, post.clock.now())
        await post.run(90)
        assert relay.copies(WHO) == 0
        await post.run(20)
        assert relay.copies(WHO) == 1


async def test_a_retry_that_waits_is_moved_forward(tmp_path: Path) -> None:
    async with post_and_relay(tmp_path) as (post, relay):
        relay.on("rcpt", Reply("451 later"), times=1)
        job = await post.submit(to=[WHO])
        await post.run(10)
        now = post.clock.now()
        await post.outbox.admin.reschedule_job(job, now, ME, now)
        await post.quiet()
        assert await post.states(job) == {WHO: "sent"}


async def test_a_redrive_goes_at_once_and_keeps_identity_and_content(tmp_path: Path) -> None:
    async with post_and_relay(tmp_path) as (post, relay):
        relay.on("dot", Reply("550 5.7.1 no"), times=1)
        job = await post.submit(to=[WHO])
        await post.run(3600, step=600)
        failed = await post.only(job)
        assert failed.state is DeliveryState.FAILED
        await post.outbox.admin.retry(failed.number, ME, post.clock.now())
        await post.quiet()
        ended = await post.only(job)
        assert (str(ended.state), ended.attempts) == ("sent", 2)
        first, second = relay.transactions
        assert first.content == second.content
        assert relay.copies(WHO) == 1


async def test_dead_letters_of_an_outage_are_sent_again_in_bulk(tmp_path: Path) -> None:
    async with post_and_relay(tmp_path, mailbox="concurrency = 20", relay="concurrency = 20") as (
        post,
        relay,
    ):
        to = [f"r{n}@one.example" for n in range(600)]
        relay.on("dot", Reply("554 5.6.0 broken filter"))
        job = await post.submit(to=to, copies="individual")
        await post.quiet()
        assert set((await post.states(job)).values()) == {"failed"}
        relay.clear()
        done = await post.outbox.admin.retry_deliveries(
            FAILED, ME, post.clock.now(), dry_run=False, limit=1000
        )
        assert (done.matched, done.done) == (600, 600)
        await post.quiet()
        assert all(relay.copies(who) == 1 for who in to)


@pytest.mark.parametrize(
    ("verdict", "state", "copies"),
    [(Verdict.SENT, "sent", 1), (Verdict.FAILED, "failed", 1), (Verdict.RESEND, "sent", 2)],
)
async def test_doubt_is_settled_by_hand(
    verdict: Verdict, state: str, copies: int, tmp_path: Path
) -> None:
    async with post_and_relay(tmp_path) as (post, relay):
        relay.on("dot", Drop(), times=1)
        job = await post.submit(to=[WHO])
        await post.run(3600, step=600)
        doubtful = await post.only(job)
        assert doubtful.state is DeliveryState.UNCERTAIN
        await post.outbox.admin.resolve(doubtful.number, verdict, ME, post.clock.now())
        await post.quiet()
        assert await post.states(job) == {WHO: state}
        assert relay.copies(WHO) == copies
        assert len({one.content for one in relay.transactions}) == 1, "the same Message-ID and Date"


async def test_a_resent_copy_that_is_refused_is_in_doubt_again(tmp_path: Path) -> None:
    async with post_and_relay(tmp_path) as (post, relay):
        relay.on("dot", Drop(), times=1)
        job = await post.submit(to=[WHO])
        await post.quiet()
        relay.on("rcpt", Reply("550 5.1.1 unknown"))
        doubtful = await post.only(job)
        await post.outbox.admin.resolve(doubtful.number, Verdict.RESEND, ME, post.clock.now())
        await post.run(60)
        assert await post.states(job) == {WHO: "uncertain"}


async def test_who_is_suppressed_while_it_waits_is_not_written_to(tmp_path: Path) -> None:
    async with post_and_relay(tmp_path) as (post, relay):
        job = await post.submit(to=[WHO, "b@one.example"], send_at="2025-12-01T07:30:00Z")
        await post.outbox.admin.suppress("support", WHO, "asked", ME, post.clock.now())
        await post.run(1900, step=100)
        found = await post.deliveries(job)
        assert found[WHO].reason_code is ReasonCode.RECIPIENT_SUPPRESSED
        assert await post.states(job) == {WHO: "failed", "b@one.example": "sent"}
        assert relay.copies(WHO) == 0


async def test_what_is_past_its_not_after_is_given_up_and_not_sent(tmp_path: Path) -> None:
    async with post_and_relay(tmp_path) as (post, relay):
        relay.on("rcpt", Reply("451 later"))
        job = await post.submit(to=[WHO], not_after="2025-12-01T07:08:00Z")
        await post.run(3600, step=60)
        ended = await post.only(job)
        assert (str(ended.state), ended.reason_code) == ("failed", ReasonCode.EXPIRED)
        assert ended.reply_code == 451


async def test_not_after_is_judged_at_the_mark(tmp_path: Path) -> None:
    hold = Hold()
    async with post_and_relay(tmp_path) as (post, relay):
        relay.on("data", hold, Default(), times=1)
        job = await post.submit(to=[WHO], not_after="2025-12-01T07:08:00Z")
        await relay.until(lambda: bool(relay.transactions))
        post.clock.advance(600)
        hold.release()
        await post.quiet()
        ended = await post.only(job)
        assert (str(ended.state), ended.reason_code) == ("failed", ReasonCode.EXPIRED)
        assert relay.copies(WHO) == 0


async def test_mail_of_a_mailbox_that_is_gone_is_held_and_freed_when_it_is_back(
    tmp_path: Path,
) -> None:
    other = '[[mailbox]]\nid = "other"\naddress = "other@example.com"\nrelay = "main"\n'
    clock = FakeClock()
    async with ScriptedRelay() as relay:
        both = settings(tmp_path, relay.port, more=other)
        async with open_post(both, clock=clock) as post:
            job = await post.submit(mailbox_id="other", to=[WHO], send_at="2025-12-01T07:30:00Z")
        async with open_post(settings(tmp_path, relay.port), clock=clock) as post:
            await post.run(3600, step=600)
            assert await post.states(job) == {WHO: "held"}
        async with open_post(settings(tmp_path, relay.port, more=other), clock=clock) as post:
            await post.quiet()
            assert await post.states(job) == {WHO: "sent"}


async def test_a_rerun_that_adds_somebody_opens_a_settled_job_again(tmp_path: Path) -> None:
    async with post_and_relay(tmp_path) as (post, _):
        rerun = {"idempotency_key": "k", "on_duplicate": "merge"}
        job = await post.submit(to=[WHO], **rerun)
        await post.run(3600)
        assert await post.submit(to=[WHO, "b@one.example"], **rerun) == job
        await post.quiet()
        assert await post.states(job) == {WHO: "sent", "b@one.example": "sent"}


@pytest.mark.parametrize("jump_s", [-3600, 3600, -30 * 24 * 3600], ids=["back", "on", "a month"])
async def test_a_clock_that_jumps_neither_loses_nor_stalls_nor_floods(
    jump_s: int, tmp_path: Path
) -> None:
    async with post_and_relay(
        tmp_path, mailbox="pace = { per_second = 1, burst = 1 }\nretry = { jitter = 0 }"
    ) as (post, relay):
        relay.on("rcpt", Reply("451 later"), recipient=WHO, times=1)
        job = await post.submit(to=[WHO])
        await post.quiet()
        post.clock.jump(jump_s)
        more = await post.submit(to=[f"r{n}@one.example" for n in range(20)], copies="individual")
        await post.quiet()
        assert len(relay.transactions) <= 3
        await post.run(2 * 3600, step=10)
        assert await post.states(job) == {WHO: "sent"}
        assert set((await post.states(more)).values()) == {"sent"}
        assert relay.copies(WHO) == 1


async def test_a_pause_holds_everything_and_a_resume_lets_it_go(tmp_path: Path) -> None:
    async with post_and_relay(tmp_path) as (post, relay):
        admin = post.outbox.admin
        await admin.pause("support", "moving", ME, post.clock.now())
        jobs = [await post.submit(to=[f"r{n}@one.example"]) for n in range(30)]
        await post.run(24 * 3600, step=3600)
        assert not relay.connections
        await admin.resume("support", ME, post.clock.now())
        await post.quiet()
        for n, job in enumerate(jobs):
            assert await post.states(job) == {f"r{n}@one.example": "sent"}
