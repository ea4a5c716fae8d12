"""What relays of this world answer (CASES F), played to the real parts: what becomes of the mail, and who else waits."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND
from postroom.core.reason import ReasonCode
from support.post import Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Reply


DAY = 24 * 3600
RETRY = "retry = { jitter = 0 }"
OTHER = """\
[[mailbox]]
id = "other"
address = "other@example.com"
relay = "main"
retry = { jitter = 0 }
"""
NOBODY: frozenset[str] = frozenset()
DOMAIN = frozenset({"b@one.example"})
MAILBOX = DOMAIN | {"c@two.example"}
RELAY = MAILBOX | {"d@two.example"}


@dataclass(frozen=True)
class Case:
    """A reply, once: what the delivery comes to, after how many seconds it may go again, and who waits with it.

    `apart_s`: all that goes through the relay starts so far apart from then on.
    """

    stage: str
    says: str
    state: str
    reason: str
    again_s: int | None = None
    waiting: frozenset[str] = NOBODY
    others_s: int = 0
    apart_s: int = 0


LATER = "retry_scheduled"
CASES = {
    "F08 Yahoo is tired of us": Case(
        "mail",
        "421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints",
        *(LATER, "domain.deferred", 3600, DOMAIN, 7200),
    ),
    "F10 Gmail: unusual rate": Case(
        "rcpt",
        "421 4.7.28 Gmail has detected an unusual rate of unsolicited mail",
        *(LATER, "domain.deferred", 900, DOMAIN, 900),
    ),
    "F10 Gmail: one reader gets too much": Case(
        "rcpt",
        "450 4.2.1 The user you are trying to contact is receiving mail too quickly",
        *(LATER, "recipient.deferred", 60),
    ),
    "F10 Gmail: peak of the relay": Case(
        "mail",
        "450 4.2.1 Peak SMTP relay limit exceeded for customer",
        *(LATER, "rate.limited", 60, MAILBOX, 60, 12),
    ),
    "F10 Gmail: enough for today": Case(
        "mail",
        "550 5.4.5 Daily user sending limit exceeded",
        *(LATER, "quota.daily", 0, MAILBOX, 3600),
    ),
    "F11 SES throttles": Case(
        "dot",
        "454 Throttling failure: Maximum sending rate exceeded",
        *(LATER, "rate.limited", 60, MAILBOX, 60, 12),
    ),
    "F13 over quota": Case("rcpt", "452 4.2.2 over quota", LATER, "recipient.mailbox_full", 60),
    "F14 unknown, for now": Case("rcpt", "450 4.1.1 user unknown", LATER, "recipient.unknown", 60),
    "F16 552 mailbox full": Case(
        "rcpt", "552 5.2.2 mailbox full", LATER, "recipient.mailbox_full", 60
    ),
    "F16 552 too big": Case("dot", "552 5.3.4 message too big", "failed", "message.too_big"),
    "F16 552 and no more": Case("dot", "552 no", LATER, "recipient.mailbox_full", 60),
    "F17 greylisted, 300 s stated": Case(
        "rcpt", "450 4.7.1 Greylisted, try again in 300 seconds", LATER, "greylisted", 300
    ),
    "F17 greylisted, half an hour stated": Case(
        "rcpt",
        "451 4.7.1 Greylisting in action, please come back in 00:30:00",
        LATER,
        "greylisted",
        1800,
    ),
    "F17 greylisted, 5 s stated": Case(
        "rcpt", "450 4.7.1 greylisted, retry in 5 seconds", LATER, "greylisted", 300
    ),
    "F17 greylisted, a day stated": Case(
        "dot", "450 4.7.1 greylisted, retry in 24 hours", LATER, "greylisted", 300
    ),
    "F17 greylisted for good": Case(
        "rcpt", "554 5.7.1 blocked using grey.rbl.example", LATER, "greylisted", 300
    ),
    "F19 refused at MAIL": Case("mail", "550 5.0.0 refused", "failed", "mail.refused"),
    "F19 refused at DATA": Case("data", "550 5.6.0 no", "failed", "message.refused"),
    "F23 no room on the relay": Case(
        "mail",
        "452 4.3.1 Insufficient system storage",
        *(LATER, "relay.storage_full", 60, RELAY, 60),
    ),
    "F29 quota of an organization": Case(
        "rcpt",
        "450 4.7.3 Organization queue quota exceeded",
        *(LATER, "domain.quota", 3600, DOMAIN, 3600),
    ),
    "not our sender": Case(
        "mail",
        "553 5.7.1 Sender address rejected: not owned by user box",
        *(LATER, "sender_refused", 0, MAILBOX, 300),
    ),
    "our address is blocked": Case(
        "rcpt",
        "554 5.7.1 Service unavailable; client host blocked using zen.spamhaus.org",
        *(LATER, "ip.blocked", 0, RELAY, 900),
    ),
    "no relaying": Case(
        "rcpt", "554 5.7.1 Relay access denied", LATER, "relaying_denied", 0, RELAY, 300
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_a_reply_holds_back_whom_it_speaks_of_and_nobody_else(
    case: Case, tmp_path: Path
) -> None:
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, mailbox=RETRY, more=OTHER)) as post,
    ):
        relay.on(case.stage, Reply(case.says), times=1)
        first = await post.submit(to=["a@one.example"])
        await post.quiet()
        ended = await post.only(first)
        assert (str(ended.state), str(ended.reason_code)) == (case.state, case.reason)
        assert ended.reply_code == int(case.says[:3])
        assert ended.attempts == 1
        if case.again_s is not None:
            assert ended.due_at == post.clock.now() + case.again_s * SECOND

        rest = [
            await post.submit(to=["b@one.example"]),
            await post.submit(to=["c@two.example"]),
            await post.submit(to=["d@two.example"], mailbox_id="other"),
        ]
        await post.quiet()
        assert await _waiting(post, rest) == (RELAY if case.apart_s else case.waiting)
        if case.waiting:
            await post.run(case.others_s - 2)
            assert await _waiting(post, rest) == case.waiting
            await post.run(3)
            await post.run(3 * case.apart_s, step=1)
            assert await _waiting(post, rest) == NOBODY
        await post.run(max(case.again_s or 0, case.others_s), step=60)
        is_lost = case.state == "failed"
        assert relay.copies("a@one.example") == (0 if is_lost else 1)
        assert all(relay.copies(who) == 1 for who in RELAY)


async def _waiting(post: Post, jobs: list[int]) -> set[str]:
    found: dict[str, str] = {}
    for job in jobs:
        found |= await post.states(job)
    assert set(found.values()) <= {"pending", "sent"}, found
    return {who for who, state in found.items() if state == "pending"}


async def test_each_recipient_keeps_its_own_answer(tmp_path: Path) -> None:
    """F04: one library lost the first refusal to the answer that came later."""
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, mailbox=RETRY)) as post,
    ):
        relay.on("rcpt", Reply("550 5.1.1 b: no such user"), recipient="b@one.example")
        relay.on("dot", Reply("451 4.3.0 c: later"), recipient="c@one.example")
        job = await post.submit(to=["b@one.example", "c@one.example", "d@one.example"])
        await post.quiet()
        found = await post.deliveries(job)
        assert {who[0]: (str(one.state), one.reply_code) for who, one in found.items()} == {
            "b": ("failed", 550),
            "c": ("retry_scheduled", 451),
            "d": ("sent", 250),
        }


@pytest.mark.parametrize(
    "says",
    ["452 4.2.2 over quota", "450 4.1.1 user unknown", "552 5.2.2 mailbox full"],
    ids=["F13", "F14", "F16"],
)
async def test_a_mailbox_that_stays_full_or_unknown_is_given_up_after_a_day_with_what_was_said_last(
    says: str, tmp_path: Path
) -> None:
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, mailbox=RETRY)) as post,
    ):
        relay.on("rcpt", Reply(says))
        job = await post.submit(to=["a@one.example"])
        await post.run(DAY - 3700, step=300)
        assert await post.states(job) == {"a@one.example": "retry_scheduled"}
        await post.run(2 * 3600, step=300)
        ended = await post.only(job)
        assert ended.state is DeliveryState.FAILED
        assert ended.reason_code is ReasonCode.EXPIRED
        assert ended.reply_code == int(says[:3])
        assert says.split(" ", 2)[2] in (ended.reply_text or "")
        assert 24 <= ended.attempts <= 32


@pytest.mark.parametrize(
    ("extensions", "states", "parameter"),
    [
        (("SMTPUTF8", "8BITMIME"), ("sent", "sent", "sent"), ["SMTPUTF8", "BODY=8BITMIME"]),
        ((), ("smtputf8_unsupported", "smtputf8_unsupported", "sent"), None),
    ],
    ids=["offered", "not offered"],
)
async def test_an_address_beyond_ascii_in_a_header_goes_only_where_relays_can_read_it(
    extensions: tuple[str, ...],
    states: tuple[str, ...],
    parameter: list[str] | None,
    tmp_path: Path,
) -> None:
    ann, jorg = "ann@example.com", "jörg@example.com"
    async with (
        ScriptedRelay(extensions=extensions) as relay,
        open_post(settings(tmp_path, relay.port)) as post,
    ):
        together = await post.deliveries(await post.submit(to=[ann], cc=[jorg]))
        await post.quiet()
        alone = await post.submit(to=[ann], bcc=[jorg], copies="individual")
        await post.quiet()
        together = await post.deliveries(next(iter(together.values())).job_number)
        told = [together[ann], together[jorg], (await post.deliveries(alone))[ann]]
        assert tuple(str(one.reason_code or one.state) for one in told) == states
        to_ann = [one for one in relay.transactions if one.recipients == [ann]]
        assert len(to_ann) == (2 if parameter else 1)
        if parameter:
            assert set(parameter) <= set(to_ann[0].mail_parameters)
        assert "SMTPUTF8" not in to_ann[-1].mail_parameters
        assert to_ann[-1].content.isascii()


async def test_a_mail_over_the_size_that_the_relay_offers_fails_without_being_transmitted(
    tmp_path: Path,
) -> None:
    async with (
        ScriptedRelay(extensions=("PIPELINING", "SIZE 2000")) as relay,
        open_post(settings(tmp_path, relay.port, mailbox=RETRY)) as post,
    ):
        big = await post.submit(to=["a@one.example"], text="x" * 3000)
        small = await post.submit(to=["b@one.example"])
        await post.quiet()
        ended = await post.only(big)
        assert (str(ended.state), ended.reason_code) == ("failed", ReasonCode.MESSAGE_TOO_BIG)
        assert await post.states(small) == {"b@one.example": "sent"}
        assert len(relay.transactions) == 1
