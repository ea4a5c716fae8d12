"""What `explain` says of a delivery in doubt is what its mailbox then does."""

from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant, format_instant
from postroom.ports.desk import Actor, Verdict
from postroom.ports.loop import Explanation, GateReport, GateVerdict
from support.inward import ALICE
from support.post import UID, Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Drop


ME = Actor(UID)
RESEND = 'on_uncertain = { policy = "resend", after_s = 600 }'
POLICIES = {
    "hold": ("", "hold", None, DeliveryState.UNCERTAIN, 1),
    "resend": (RESEND, "resend after 600 s", 600, DeliveryState.SENT, 2),
    "assume_sent": (
        'on_uncertain = "assume_sent"',
        "assume_sent after 900 s",
        900,
        DeliveryState.SENT,
        1,
    ),
}


async def explained(post: Post, job: int) -> Explanation:
    found = await post.joined.api.loop.explain((await post.only(job)).number)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("setting", "words", "after_s", "end", "copies"), POLICIES.values(), ids=POLICIES.keys()
)
async def test_explain_says_what_will_become_of_doubt_and_when(
    setting: str, words: str, after_s: int | None, end: DeliveryState, copies: int, tmp_path: Path
) -> None:
    async with ScriptedRelay() as relay:
        relay.on("dot", Drop(), times=1)
        async with open_post(settings(tmp_path, relay.port, mailbox=setting)) as post:
            job = await post.submit(to=[ALICE])
            await post.quiet()
            since = post.clock.now()
            at = None if after_s is None else Instant(since + after_s * SECOND)
            told = await explained(post, job)
            value = f"in doubt since {format_instant(since)}"
            gate = GateReport("doubt", GateVerdict.BLOCKED, value, words, at)
            earliest = at if "resend" in words else None
            assert told == Explanation(DeliveryState.UNCERTAIN, (gate,), earliest)
            await post.run((after_s or 86_400) - 1)
            assert (await post.only(job)).state is DeliveryState.UNCERTAIN
            await post.run(1)
            assert (await post.only(job)).state is end
            assert relay.copies(ALICE) == copies


SECOND_DOUBT = "resend, but not this one: it may have been sent again before"
LEFT = {
    "a second doubt": ("resend", SECOND_DOUBT),
    "cancelled": ("cancel", "resend, but not this one: cancelled"),
    "suppressed": ("suppress", "resend, but not this one: recipient_suppressed"),
    "over": ("pass", "resend, but not this one: expired"),
}


@pytest.mark.parametrize(("deed", "words"), LEFT.values(), ids=LEFT.keys())
async def test_explain_says_why_it_is_not_sent_again(deed: str, words: str, tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        relay.on("dot", Drop())
        async with open_post(settings(tmp_path, relay.port, mailbox=RESEND)) as post:
            not_after = format_instant(Instant(post.clock.now() + 500 * SECOND))
            more = {"not_after": not_after} if deed == "pass" else {}
            job = await post.submit(to=[ALICE], **more)
            await post.quiet()
            number, now = (await post.only(job)).number, post.clock.now()
            match deed:
                case "resend":
                    await post.outbox.admin.resolve(number, Verdict.RESEND, ME, now)
                case "cancel":
                    await post.outbox.admin.cancel_job(job, ME, now)
                case "suppress":
                    await post.outbox.admin.suppress(None, ALICE, "asked", ME, now)
                case _:
                    pass
            await post.quiet()
            if deed in {"cancel", "pass"}:
                assert (await explained(post, job)).gates[0].threshold == words
            await post.run(601)
            told = await explained(post, job)
            (gate,) = told.gates
            assert (gate.threshold, gate.until) == (words, None)
            assert relay.copies(ALICE) == (2 if deed == "resend" else 1)
            assert ('"event": "doubt.left"' in post.log.getvalue()) == (deed != "resend")
            text = await post.joined.api.signals.metrics_text()
            assert ("postroom_doubts_judged_total{" in text) == (deed != "resend")
