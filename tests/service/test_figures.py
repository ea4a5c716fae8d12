"""What the running daemon says of itself, over its real parts: each figure moves when, and only when, its thing happens."""

import re
import threading
from pathlib import Path
from typing import Any

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.mailbox import Lane
from postroom.ops.metrics import text_of
from postroom.ports.desk import Actor
from postroom.ports.figures import Minute, PaceUse, Stats
from postroom.ports.leasing import LeaseWish
from postroom.service import figures
from support.inward import ALICE, answer_to, mail, mail_to, reply_to
from support.office import events, office
from support.post import Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Reply


PACED = "pace = { per_minute = 2, per_day = 100 }"


async def stats(post: Post) -> Stats:
    return await post.joined.api.signals.stats()


async def metric(post: Post, sample: str) -> float | None:
    """The value of a sample, written as Prometheus writes it; None = there is none."""
    text = await post.joined.api.signals.metrics_text()
    found = re.search(rf"^postroom_{re.escape(sample)} (\S+)$", text, re.MULTILINE)
    return None if found is None else float(found[1])


async def lease(post: Post, consumer: str) -> Any:
    return await post.outbox.leases.acquire(
        LeaseWish(consumer, ("support",), None, 1, 100, 30.0, None, post.clock.now())
    )


async def test_what_comes_in_is_counted_from_the_door_to_the_consumer(tmp_path: Path) -> None:
    async with office(tmp_path) as (relay, post, port):
        now = post.clock.now()
        await post.outbox.leases.make_consumer("agents", None, now, from_now=False)
        await post.submit(to=[ALICE])
        await post.quiet()
        answer, to = answer_to(relay.transactions[0], "Yes."), reply_to(relay.transactions[0])
        assert (await mail_to(port, answer, to)).startswith("250")
        await events(post, 1)
        assert (await mail_to(port, answer, to)).startswith("250")
        assert (await mail_to(port, mail("Hi"), "nobody@reply.example.com")).startswith("550")

        async def is_read() -> bool:
            return not (await stats(post)).inbound.waiting

        await post.until_answered(is_read)
        found = (await stats(post)).inbound
        assert (found.received, found.refused, found.waiting, found.set_aside) == (2, 1, 0, 0)
        assert found.oldest_at is None
        assert await metric(post, 'listener_refusals_total{reason="unknown"}') == 1
        assert await metric(post, 'mails_read_total{mailbox="support",parse="complete"}') == 1
        assert await metric(post, 'mails_doubled_total{mailbox="support"}') == 1
        assert await metric(post, 'events_total{mailbox="support",type="reply.received"}') == 1
        assert await metric(post, 'events_waiting{consumer="agents"}') == 1
        post.clock.advance(5)
        assert await metric(post, 'events_oldest_unleased_age_seconds{consumer="agents"}') == 5
        await lease(post, "agents")
        assert await metric(post, 'events_oldest_unleased_age_seconds{consumer="agents"}') == 0
        assert await metric(post, 'leases{consumer="agents"}') == 1
        post.clock.advance(31)
        await post.outbox.leases.sweep(post.clock.now())
        assert await metric(post, 'lease_expiries_total{mailbox="support"}') == 1
        assert "lease.expired" in post.log.getvalue()


async def test_events_that_die_are_counted_and_told(tmp_path: Path) -> None:
    async with office(tmp_path) as (relay, post, port):
        await post.outbox.leases.make_consumer("agents", None, post.clock.now(), from_now=False)
        await post.submit(to=[ALICE])
        await post.quiet()
        answer, to = answer_to(relay.transactions[0], "Yes."), reply_to(relay.transactions[0])
        await mail_to(port, answer, to)
        await events(post, 1)
        for _ in range(10):
            assert await lease(post, "agents")
            post.clock.advance(31)
        assert await lease(post, "agents") == ()
        assert (await stats(post)).events_dead == 1
        assert await metric(post, 'events_dead_total{mailbox="support"}') == 1
        assert "events.died" in post.log.getvalue()


async def test_the_way_out_is_told_with_what_holds_it_back(tmp_path: Path) -> None:
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, mailbox=PACED)) as post,
    ):
        for number in range(3):
            await post.submit(to=[f"user{number}@one.example"])
        await post.quiet()
        found = await stats(post)
        assert found.last_minute["support"] == Minute(accepted=3, sent=2)
        assert found.depth["support", Lane.STANDARD, DeliveryState.PENDING] == 1
        assert PaceUse("mailbox", "support", "minute", 2, 2) in found.pace
        assert PaceUse("mailbox", "support", "day", 2, 100) in found.pace
        assert (await metric(post, 'waits_total{gate="mailbox_pace",mailbox="support"}') or 0) >= 1
        assert found.store.commits > 0
        assert found.store.disk_free
        assert found.store.disk_kept
        assert found.breakers == ()
        await post.outbox.admin.pause("support", "a test", Actor(1000), post.clock.now())
        await post.quiet()
        assert (await stats(post)).paused == {"support": "uid:1000"}


async def test_a_breaker_that_is_open_is_told_with_its_reason_and_its_next_probe(
    tmp_path: Path,
) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        relay.on("mail", Reply("535 5.7.8 no"))
        await post.submit(to=[ALICE])
        await post.quiet()
        (found,) = (await stats(post)).breakers
        assert found.reason is not None
        assert (found.state, found.probe_at is not None) == ("open", True)
        relay.clear()
        await post.outbox.admin.resume("support", Actor(1000), post.clock.now())
        await post.quiet()
        (found,) = (await stats(post)).breakers
        assert (found.state, found.probe_at) == ("half_open", None)


async def test_the_text_for_prometheus_is_written_in_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def noted(metrics: Any) -> str:
        threads.append(threading.current_thread())
        return text_of(metrics)

    monkeypatch.setattr(figures, "text_of", noted)
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        text = await post.joined.api.signals.metrics_text()
    assert "postroom_build_info" in text
    assert threads
    assert threading.main_thread() not in threads
