"""Sentences of the contract, each played to all real parts: what must hold whoever calls and whatever the relay says."""

from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import SECOND, Instant, format_instant
from postroom.core.record import JobRecord
from postroom.ports.desk import Actor, Verdict
from support.post import ARTICLE, Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Default, Drop, Hold, Reply


ACTOR = Actor(1000)
SLOW_TO_SAY_NO = Reply("450 4.2.1 later")


async def suppress(post: Post, address: str) -> None:
    """Put an address on the list of its mailbox."""
    await post.outbox.admin.suppress("support", address, "asked to", ACTOR, post.clock.now())


async def steps(post: Post, job: int) -> list[tuple[str | None, str, str | None]]:
    """The history of the only delivery: from, to, why."""
    return [(one.before, str(one.after), one.reason_code) for one in (await post.only(job)).history]


async def test_a_suppressed_address_is_not_asked_for_any_more(tmp_path: Path) -> None:
    """The relay would never have let it come to the mark."""
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port)) as post,
    ):
        relay.on("rcpt", SLOW_TO_SAY_NO)
        retried = await post.submit(to=["a@one.example"])
        later = await post.submit(to=["b@one.example"], send_at="2100-01-01T00:00:00Z")
        await post.quiet()
        tries = len(relay.transactions)
        await suppress(post, "A@one.example")
        await suppress(post, "b@one.example")
        await post.outbox.admin.reschedule_job(later, Instant(0), ACTOR, post.clock.now())
        await post.run(3600, step=60)
        assert await post.states(retried) == {"a@one.example": "failed"}
        assert (await steps(post, later))[1:] == [("pending", "failed", "recipient_suppressed")]
        assert len(relay.transactions) == tries


async def test_a_suppressed_address_that_may_have_a_copy_is_in_doubt_again(tmp_path: Path) -> None:
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port)) as post,
    ):
        relay.on("dot", Drop(), times=1)
        job = await post.submit(to=["a@one.example"])
        await post.quiet()
        await suppress(post, "a@one.example")
        number = (await post.only(job)).number
        await post.outbox.admin.resolve(number, Verdict.RESEND, ACTOR, post.clock.now())
        await post.run(1)
        assert (await steps(post, job))[-1] == ("pending", "uncertain", "recipient_suppressed")
        assert relay.copies("a@one.example") == 1


async def test_what_is_being_sent_can_be_moved_in_time_until_its_mark(tmp_path: Path) -> None:
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port)) as post,
    ):
        hold = Hold()
        relay.on("data", hold, Default(), times=1)
        job = await post.submit(to=["a@one.example"])
        await relay.until(lambda: bool(relay.transactions and relay.transactions[0].recipients))
        await post.quiet(under_way=1)
        later = Instant(post.clock.now() + 600 * SECOND)
        moved = await post.outbox.admin.reschedule_job(job, later, ACTOR, post.clock.now())
        assert isinstance(moved, JobRecord)
        hold.release()
        await post.quiet()
        waits = await post.only(job)
        assert (waits.state, waits.due_at) == (DeliveryState.PENDING, later)
        assert (waits.attempts, waits.deferrals, relay.copies("a@one.example")) == (0, 1, 0)
        assert (await steps(post, job))[-1] == ("sending", "pending", "rescheduled")
        await post.run(601)
        assert await post.states(job) == {"a@one.example": "sent"}


@pytest.mark.parametrize("answer", [Default(), Reply("550 5.1.1 unknown")], ids=["354", "550"])
async def test_what_is_moved_to_now_while_it_is_sent_goes_again_at_once(
    answer: Reply | Default, tmp_path: Path
) -> None:
    """Its row was passed over while it was under way."""
    async with (
        ScriptedRelay(extensions=()) as relay,
        open_post(settings(tmp_path, relay.port)) as post,
    ):
        hold = Hold()
        relay.on("data", hold, answer, times=1)
        job = await post.submit(to=["a@one.example"])
        await relay.until(lambda: bool(relay.transactions and relay.transactions[0].recipients))
        await post.run(5, step=1, under_way=1)
        await post.outbox.admin.reschedule_job(job, Instant(0), ACTOR, post.clock.now())
        await post.run(5, step=1, under_way=1)
        hold.release()
        await post.run(1)
        assert await post.states(job) == {"a@one.example": "sent"}
        assert relay.copies("a@one.example") == 1


async def test_an_event_and_a_delivery_say_what_they_are_about(tmp_path: Path) -> None:
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port)) as post,
    ):
        job = await post.submit(to=["a@one.example"], trace_id="trace-1")
        await post.quiet()
        sent = await post.only(job)
        assert sent.trace_id == "trace-1"
        (told,) = await post.outbox.reader.find_events(0, 10)
        assert told.data["answers"] == {
            "job_id": encode_id(Kind.JOB, job),
            "delivery_id": encode_id(Kind.DELIVERY, sent.number),
        }
        assert told.data["trace_id"] == "trace-1"


async def test_what_may_not_be_sent_any_more_does_not_wait_for_the_end_of_a_pause(
    tmp_path: Path,
) -> None:
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port)) as post,
    ):
        await post.outbox.admin.pause("support", "", ACTOR, post.clock.now())
        until = format_instant(Instant(post.clock.now() + 600 * SECOND))
        short = await post.submit(to=["a@one.example"], not_after=until)
        long = await post.submit(to=["b@one.example"])
        await post.run(599, step=30)
        assert await post.states(short) == {"a@one.example": "pending"}
        await post.run(2)
        assert (await steps(post, short))[-1] == ("pending", "failed", "expired")
        assert await post.states(long) == {"b@one.example": "pending"}
        await post.outbox.admin.resume("support", ACTOR, post.clock.now())
        await post.quiet()
        assert await post.states(long) == {"b@one.example": "sent"}
        assert len(relay.transactions) == 1


async def test_explain_measures_in_numbers(tmp_path: Path) -> None:
    cap = ARTICLE + "\npace = { per_day = 1 }"
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, mailbox=cap)) as post,
    ):
        await post.submit(to=["a@one.example"], priority="high")
        job = await post.submit(to=["b@one.example"], priority="high")
        await post.quiet()
        told = await post.joined.api.loop.explain((await post.only(job)).number)
        assert told is not None
        measured = {one.name: (one.value, one.threshold) for one in told.gates}
        assert measured["daily_cap"] == (1, 1)
        assert measured["mailbox_connections"] == (0, 4)
        assert measured["relay_breaker"] == ("closed", "closed")
