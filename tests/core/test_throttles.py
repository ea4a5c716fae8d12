"""How providers say that we are too fast: every row of the table by its id, and what must not be taken for one."""

import re

import pytest

from postroom.core.outcome import Verdict, classify
from postroom.core.reply import SmtpReply, Stage
from postroom.core.replytable import Class
from postroom.core.throttles import THROTTLES


def read(stage: str, line: str) -> Verdict:
    code, _, text = line.partition(" ")
    found = re.match(r"([245]\.\d{1,3}\.\d{1,3}) ", text)
    reply = SmtpReply(int(code), found and found[1], text, line.encode())
    verdict = classify(Stage(stage), reply, is_marked=stage == "dot", is_dotted=stage == "dot")
    assert verdict is not None
    return verdict


BUSY = "domain domain.deferred, 900 s, slows domain"
FAST = "domain domain.deferred, 60 s, slows domain"
TIRED = "domain domain.deferred, 7200 s, slows domain"
RATE = "mailbox rate.limited, slows relay"
CROWD = "relay relay.busy, slows relay"
SAYS = {
    "gmail-unusual-rate": (
        "rcpt",
        "421 4.7.0 We have seen an unusual rate of mail from your DKIM domain",
        BUSY,
    ),
    "gmail-unsolicited": ("dot", "421 4.7.0 unsolicited mail comes from your address", BUSY),
    "gmail-unauthenticated": (
        "dot",
        "421 4.7.30 Your email has been rate limited because it is not signed",
        BUSY,
    ),
    "gmail-try-later": ("mail", "421 4.7.0 Try again later, closing connection.", CROWD),
    "gmail-peak": ("mail", "450 4.2.1 Peak SMTP relay limit exceeded for customer", RATE),
    "gmail-logins": (
        "auth",
        "454 4.7.0 Too many login attempts, please try again later",
        "relay relay.deferred, slows relay",
    ),
    "microsoft-reputation": (
        "mail",
        "451 4.7.1 192.0.2.1 is limited for its IP reputation (S775)",
        BUSY,
    ),
    "microsoft-connections": (
        "rcpt",
        "451 4.7.0 The mail server [192.0.2.1] has exceeded the maximum number of connections",
        FAST,
    ),
    "microsoft-rp-001": ("mail", "421 RP-001 (X) Over the hourly amount", BUSY),
    "microsoft-rp-002": ("mail", "421 RP-002 (X) Over the amount for a connection", FAST),
    "microsoft-rp-003": ("mail", "421 RP-003 (X) Over the amount of connections", FAST),
    "microsoft-recipient-threads": (
        "dot",
        "432 4.3.2 STOREDRV.Deliver; recipient thread limit exceeded",
        FAST,
    ),
    "microsoft-sender-threads": (
        "dot",
        "432 4.3.2 STOREDRV.ClientSubmit; sender thread limit exceeded",
        RATE,
    ),
    "microsoft-organization": (
        "rcpt",
        "450 4.7.3 Organization queue quota exceeded",
        "domain domain.quota, 3600 s, slows domain",
    ),
    "exchange-submission-rate": (
        "mail",
        "421 4.4.2 Message submission rate for this client is over its limit",
        RATE,
    ),
    "exchange-connections": ("mail", "432 4.3.2 Concurrent connections limit exceeded", CROWD),
    "yahoo-tss": ("mail", "421 4.7.0 [TSS09] Deferred", TIRED),
    "yahoo-ts": ("mail", "421 4.7.1 [TS03] All mail from 192.0.2.1 waits", TIRED),
    "yahoo-permanently": ("mail", "421 4.7.1 Mail will be permanently deferred", TIRED),
    "yahoo-volume": ("mail", "421 4.7.0 deferred due to unexpected volume", TIRED),
    "yahoo-complaints": ("mail", "421 4.16.55 deferred due to excessive user complaints", TIRED),
    "yahoo-resources": ("rcpt", "451 Resources temporarily not available [#4.16.5].", BUSY),
    "ses-rate": ("dot", "454 Throttling failure: Maximum sending rate exceeded.", RATE),
    "ses-throttling": ("dot", "454 Throttling failure: Please wait.", RATE),
    "ses-sending-rate": ("dot", "454 4.7.0 Sending rate of this account exceeded", RATE),
    "qq-frequency": ("rcpt", "550 Ip frequency limited", BUSY),
    "apple-volume": ("rcpt", "421 4.7.1 Deferred due to excessive volume", BUSY),
    "comcast-throttled": ("mail", "421 4.1.0 192.0.2.1 Throttled - try again later.", BUSY),
    "postfix-messages": ("mail", "450 4.7.1 Error: too much mail from 192.0.2.1", RATE),
    "postfix-recipients": ("rcpt", "450 4.7.1 Error: too many recipients from 192.0.2.1", RATE),
    "hosting-hour": (
        "rcpt",
        "550 Domain example.com has exceeded the max emails per hour (50/50)",
        RATE,
    ),
    "any-connections": ("mail", "421 4.7.0 Error: too many connections from 192.0.2.1", CROWD),
    "any-concurrent": ("mail", "421 Too many concurrent SMTP connections", CROWD),
    "any-simultaneous": ("mail", "421 too many simultaneous sessions", CROWD),
    "any-sessions": ("mail", "421 Too many sessions opened", CROWD),
    "any-connection-rate": ("mail", "421 4.7.0 connection rate is over its bound", CROWD),
    "any-rate": ("dot", "550 5.7.1 Rate limit exceeded", RATE),
    "any-rate-limited": ("mail", "451 4.7.1 ratelimit hit, wait", RATE),
    "any-message-rate": ("mail", "451 4.7.1 message rate of this client is too high", RATE),
    "any-too-fast": ("dot", "451 you are sending mail too fast", RATE),
    "any-too-quickly": ("dot", "451 sending too quickly", RATE),
    "any-messages": ("dot", "452 too many messages in this hour", RATE),
    "any-slow-down": ("dot", "421 Please slow down", RATE),
    "any-throttled": ("dot", "451 message throttled", RATE),
    "status-gmail": ("rcpt", "421 4.7.28 no", BUSY),
    "status-microsoft-busy": ("rcpt", "451 4.7.500 Server busy", BUSY),
    "status-microsoft-abuse": ("dot", "550 5.7.501 Access denied", RATE),
    "status-microsoft-reputation": ("mail", "451 4.7.651 no", BUSY),
    "status-microsoft-connections": ("mail", "451 4.7.652 no", FAST),
}


def said(verdict: Verdict) -> str:
    delay = "" if verdict.delay is None else f", {verdict.delay.total_seconds():.0f} s"
    slows = "" if verdict.slows is None else f", slows {verdict.slows}"
    return f"{verdict.scope} {verdict.reason}{delay}{slows}"


@pytest.mark.parametrize("id_", SAYS)
def test_a_text_that_says_too_fast_is_read_so(id_: str) -> None:
    stage, line, expected = SAYS[id_]
    assert said(read(stage, line)) == expected


def test_every_row_has_an_id_of_its_own_and_a_text_that_only_it_knows() -> None:
    assert list(SAYS) == [row.id for row in THROTTLES]
    for row in THROTTLES:
        _, line, _ = SAYS[row.id]
        text = line.lower()
        fits = all(words in text for words in row.says)
        assert fits, row.id
        first = next(
            one
            for one in THROTTLES
            if (all(words in text for words in one.says) and text[0] in one.codes and one.says)
            or any(f".{detail} " in f"{text} " for detail in one.details if not row.says)
        )
        assert first.id == row.id


@pytest.mark.parametrize("id_", SAYS)
def test_no_throttle_is_ever_for_good(id_: str) -> None:
    stage, line, _ = SAYS[id_]
    for code in ("4", "5"):
        changed = line.replace(" 5.", f" {code}.").replace(" 4.", f" {code}.")
        verdict = read(stage, code + changed[1:])
        if verdict.slows is not None:
            assert verdict.class_ in {Class.TEMPORARY, Class.OURS}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("450 4.7.1 Greylisted to keep the rate limit of strangers, try again in 300 s", "greyl"),
        ("550 5.4.5 Daily user sending limit exceeded", "quota"),
        ("454 Throttling failure: Daily message quota exceeded", "quota"),
        ("452 4.2.2 over quota", "recipient"),
        ("552 5.2.2 mailbox full", "recipient"),
        ("452 4.3.1 Insufficient system storage", "relay.storage"),
        ("450 4.2.1 The user you write to is receiving mail too quickly", "recipient"),
        ("450 4.2.1 The user you write to is receiving mail at a rate that is too high", "recip"),
        ("421 4.3.2 Shutting down", "relay"),
        ("452 4.5.3 too many recipients", "recipient"),
    ],
)
def test_what_only_has_to_wait_does_not_slow_down(line: str, reason: str) -> None:
    verdict = read("rcpt", line)
    assert verdict.slows is None
    assert verdict.reason.startswith(reason)


@pytest.mark.parametrize("stage", ["connect", "greeting", "ehlo", "starttls", "auth"])
@pytest.mark.parametrize(
    "line", ["421 4.7.28 unusual rate of mail", "421 too many connections", "451 rate limit"]
)
def test_before_mail_it_is_the_relay_that_we_are_too_fast_for(stage: str, line: str) -> None:
    verdict = read(stage, line)
    assert (verdict.scope, verdict.slows) == ("relay", "relay")
    assert verdict.class_ is Class.TEMPORARY


def test_an_address_in_a_reply_is_not_read_as_a_throttle() -> None:
    assert read("rcpt", "451 <slow.rate limit@throttled.example> later").slows is None
