"""How replies are read: the cases that relays really give, and that nothing a relay says breaks it."""

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.outcome import Verdict, classify, unfit
from postroom.core.reason import EXPLANATIONS, ReasonCode
from postroom.core.reply import SmtpReply, Stage
from postroom.core.replytable import Class, Scope


def a_reply(line: str) -> SmtpReply:
    code, _, text = line.partition(" ")
    found = re.match(r"([245]\.\d{1,3}\.\d{1,3}) ", text)
    return SmtpReply(int(code), found and found[1], text, line.encode())


def read(stage: str, line: str) -> Verdict:
    verdict = classify(
        Stage(stage), a_reply(line), is_marked=stage == "dot", is_dotted=stage == "dot"
    )
    assert verdict is not None
    return verdict


@pytest.mark.parametrize(
    ("stage", "line", "expected"),
    [
        # recipients
        ("rcpt", "550 5.1.1 User unknown", "permanent recipient recipient.unknown"),
        ("rcpt", "550 User unknown", "permanent recipient recipient.unknown"),
        (
            "rcpt",
            "550 5.1.1 The email account that you tried to reach does not exist",
            "permanent recipient recipient.unknown",
        ),
        ("rcpt", "550 mailbox unavailable", "permanent recipient recipient.refused"),
        ("rcpt", "550 5.2.1 The account is disabled", "permanent recipient recipient.disabled"),
        ("rcpt", "551 5.1.6 try someone@else.example", "permanent recipient recipient.moved"),
        ("rcpt", "551 not local", "permanent recipient recipient.moved"),
        ("rcpt", "553 mailbox name not allowed", "permanent recipient recipient.bad_address"),
        ("rcpt", "501 local part too long", "permanent recipient recipient.bad_address"),
        ("rcpt", "556 5.1.10 recipient has null MX", "permanent recipient domain.no_mail"),
        ("rcpt", "550 5.1.2 Domain not found", "permanent recipient domain.unknown"),
        (
            "rcpt",
            "554 delivery error: This user doesn't have a mail.example account",
            "permanent recipient recipient.unknown",
        ),
        (
            "rcpt",
            "550 5.7.133 sender not authenticated for group",
            "permanent recipient recipient.refused",
        ),
        (
            "rcpt",
            "550 5.7.1 sender not allowed to post to this list",
            "permanent recipient recipient.refused",
        ),
        ("rcpt", "450 4.1.1 user unknown", "temporary recipient recipient.unknown"),
        ("rcpt", "451 try again later", "temporary recipient recipient.deferred"),
        ("rcpt", "450 4.2.1 mailbox busy", "temporary recipient recipient.deferred"),
        (
            "rcpt",
            "450 4.2.1 The user you are trying to contact is receiving mail too quickly",
            "temporary recipient recipient.deferred",
        ),
        ("rcpt", "452 4.2.2 over quota", "temporary recipient recipient.mailbox_full"),
        ("rcpt", "552 5.2.2 mailbox full", "temporary recipient recipient.mailbox_full"),
        ("rcpt", "552 over quota", "temporary recipient recipient.mailbox_full"),
        ("dot", "552 5.2.2 Over quota", "temporary recipient recipient.mailbox_full"),
        ("dot", "552 no", "temporary recipient recipient.mailbox_full"),
        (
            "rcpt",
            "450 4.7.1 Greylisting in effect, try again in 300 s",
            "temporary recipient greylisted",
        ),
        ("rcpt", "554 5.7.1 blocked using grey.rbl.example", "temporary recipient greylisted"),
        # messages
        ("mail", "552 5.3.4 too big", "permanent message message.too_big"),
        ("mail", "552 no", "permanent message message.too_big"),
        ("dot", "552 5.3.4 Message too big", "permanent message message.too_big"),
        ("dot", "554 5.6.0 not this content", "permanent message message.refused"),
        ("data", "554 5.6.0 not this content", "permanent message message.refused"),
        ("data", "550 no", "permanent message message.refused"),
        ("body", "554 no", "permanent message message.refused"),
        (
            "dot",
            "550 5.7.1 this message is likely unsolicited mail",
            "permanent message message.spam",
        ),
        ("dot", "550 5.7.1 rejected as spam", "permanent message message.spam"),
        ("dot", "550 5.6.0 bare LF", "permanent message message.malformed"),
        ("dot", "451 queue error", "temporary message relay.deferred"),
        ("mail", "550 5.6.7 SMTPUTF8 needed", "permanent message smtputf8_unsupported"),
        # at MAIL: refused for this delivery; a row of them is the storm guard's
        ("mail", "550 5.0.0 refused", "permanent recipient mail.refused"),
        ("mail", "451 later", "temporary mailbox relay.deferred"),
        ("mail", "554 5.5.1 bad sequence", "permanent recipient mail.refused"),
        # what speaks of our sender
        ("mail", "550 5.7.1 sender refused", "ours mailbox sender_refused"),
        ("mail", "554 sender rejected, listed at Spamhaus", "ours relay ip.blocked"),
        (
            "mail",
            "553 5.7.1 <box@example.com>: Sender address rejected: not owned by user box",
            "ours mailbox sender_refused",
        ),
        (
            "rcpt",
            "553 5.7.1 <box@example.com>: Sender address rejected: not owned by user box",
            "ours mailbox sender_refused",
        ),
        ("mail", "550 5.1.8 bad sender system", "ours mailbox sender_refused"),
        (
            "dot",
            "554 5.2.252 SendAsDenied; box not allowed to send as other",
            "ours mailbox sender_refused",
        ),
        (
            "dot",
            "550 5.7.60 Client does not have permissions to send as this sender",
            "ours mailbox sender_refused",
        ),
        (
            "dot",
            "554 Message rejected: Email address is not verified.",
            "ours mailbox sender_refused",
        ),
        (
            "dot",
            "550 5.7.26 Unauthenticated email is not accepted due to DMARC policy",
            "ours mailbox sender.unauthenticated",
        ),
        ("rcpt", "550 5.7.23 SPF validation failed", "ours mailbox sender.unauthenticated"),
        (
            "rcpt",
            "450 4.1.8 Sender address rejected: Domain not found",
            "temporary recipient domain.unknown",
        ),
        # our quota and rate
        ("mail", "550 5.4.5 Daily user sending limit exceeded", "ours mailbox quota.daily"),
        (
            "dot",
            "454 Throttling failure: Daily message quota exceeded",
            "temporary mailbox quota.daily",
        ),
        (
            "dot",
            "454 Throttling failure: Maximum sending rate exceeded",
            "temporary mailbox rate.limited",
        ),
        (
            "mail",
            "450 4.2.1 Peak SMTP relay limit exceeded for customer",
            "temporary mailbox rate.limited",
        ),
        (
            "dot",
            "550 5.7.705 Access denied, tenant has exceeded threshold",
            "ours mailbox quota.daily",
        ),
        # domains
        (
            "mail",
            "421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints",
            "temporary domain domain.deferred",
        ),
        ("rcpt", "421 4.7.28 unusual rate of unsolicited mail", "temporary domain domain.deferred"),
        (
            "rcpt",
            "421 4.7.0 unsolicited mail originating from your address",
            "temporary domain domain.deferred",
        ),
        ("rcpt", "450 4.7.3 Organization queue quota exceeded", "temporary domain domain.quota"),
        ("rcpt", "550 Ip frequency limited", "ours domain domain.deferred"),
        # the relay
        ("rcpt", "554 5.7.1 <someone>: Relay access denied", "ours relay relaying_denied"),
        ("rcpt", "550 5.7.64 TenantAttribution", "ours relay relaying_denied"),
        ("mail", "530 5.7.0 Authentication Required", "ours relay auth_failed"),
        ("mail", "530 no", "ours relay auth_failed"),
        ("rcpt", "530 5.7.57 Client not authenticated to send mail", "ours relay auth_failed"),
        ("rcpt", "550 5.7.606 Access denied, banned sending IP", "ours relay ip.blocked"),
        ("rcpt", "554 5.7.1 Client host blocked using zen.spamhaus.org", "ours relay ip.blocked"),
        ("mail", "452 4.3.1 insufficient system storage", "temporary relay relay.storage_full"),
        ("mail", "452 later", "temporary relay relay.storage_full"),
        ("mail", "452 4.3.2 later", "temporary relay relay.deferred"),
        ("rcpt", "421 closing", "temporary relay relay.busy"),
        ("dot", "421 closing", "temporary relay relay.busy"),
        # before MAIL
        ("auth", "535 5.7.8 bad credentials", "ours relay auth_failed"),
        ("auth", "535 user unknown", "ours relay auth_failed"),
        ("auth", "454 4.7.0 too many login attempts", "temporary relay relay.deferred"),
        ("auth", "454 4.7.8 later", "temporary relay relay.deferred"),
        ("greeting", "421 too busy", "temporary relay relay.busy"),
        ("greeting", "554 no", "ours relay relay.refused"),
        ("greeting", "554 5.7.1 blocked using zen.spamhaus.org", "ours relay ip.blocked"),
        ("starttls", "454 no TLS now", "temporary relay tls.failed"),
        ("ehlo", "550 5.1.1 what", "ours relay relay.refused"),
        ("connect", "554 no", "ours relay relay.refused"),
    ],
)
def test_how_a_reply_is_read(stage: str, line: str, expected: str) -> None:
    verdict = read(stage, line)
    assert f"{verdict.class_} {verdict.scope} {verdict.reason}" == expected


@pytest.mark.parametrize(
    ("stage", "is_marked", "is_dotted", "expected"),
    [
        ("connect", False, False, "temporary relay relay.unreachable"),
        ("auth", False, False, "temporary relay relay.unreachable"),
        ("starttls", False, False, "temporary relay tls.failed"),
        ("mail", False, False, "temporary relay connection.lost"),
        ("data", False, False, "temporary relay connection.lost"),
        ("body", False, False, "temporary relay connection.lost"),
        ("dot", True, False, "temporary relay mark.withdrawn"),
        ("dot", True, True, "in_doubt relay doubt.no_answer"),
    ],
)
def test_how_silence_is_read(
    stage: str, expected: str, *, is_marked: bool, is_dotted: bool
) -> None:
    verdict = classify(Stage(stage), None, is_marked=is_marked, is_dotted=is_dotted)
    assert verdict is not None
    assert f"{verdict.class_} {verdict.scope} {verdict.reason}" == expected


def test_only_a_2yz_to_the_final_dot_is_success() -> None:
    accepted = a_reply("250 2.0.0 ok queued as 4711")
    assert classify(Stage.DOT, accepted, is_marked=True, is_dotted=True) is None
    for code in (200, 299):
        assert classify(Stage.DOT, a_reply(f"{code} ok"), is_marked=True, is_dotted=True) is None
    early = classify(Stage.BODY, accepted)
    assert early == Verdict(Class.TEMPORARY, Scope.RELAY, ReasonCode.PROTOCOL_ERROR)
    odd = classify(Stage.DOT, a_reply("354 go on"), is_marked=True, is_dotted=True)
    assert odd == Verdict(Class.IN_DOUBT, Scope.RELAY, ReasonCode.DOUBT_BAD_ANSWER)


def test_what_a_relay_can_not_take_is_permanent_before_it_is_asked() -> None:
    assert unfit(is_too_big=True).reason is ReasonCode.MESSAGE_TOO_BIG
    assert unfit(is_too_big=False).reason is ReasonCode.SMTPUTF8_UNSUPPORTED
    assert unfit(is_too_big=False).class_ is Class.PERMANENT


@pytest.mark.parametrize(
    ("line", "seconds", "is_stated"),
    [
        pytest.param("450 4.7.1 Greylisting, try again in 300 s", 300, True, id="seconds"),
        pytest.param(
            "451 4.7.1 Greylisted, please try again in 10 minutes", 600, True, id="minutes"
        ),
        pytest.param("451 please retry in 1 hour", 3600, True, id="an hour"),
        pytest.param("451 Please try again in 00:04:59", 299, True, id="a clock"),
        pytest.param("451 wait 120", 120, True, id="without a unit"),
        pytest.param(
            "450 greylisted, try again in 30 s", 300, False, id="too short: what is usual"
        ),
        pytest.param(
            "450 greylisted, try again in 2 hours", 300, False, id="too long: what is usual"
        ),
        pytest.param("450 greylisted", 300, False, id="nothing stated: what is usual"),
        pytest.param("451 try again in 30 s", None, False, id="too short, and nothing is usual"),
        pytest.param("451 retry in 99999 h", None, False, id="absurd"),
        pytest.param("451 busy", None, False, id="nothing"),
        pytest.param("550 5.1.1 no, try again in 300 s", None, False, id="refused for good"),
    ],
)
def test_a_stated_delay_of_1_to_60_minutes_is_heard(
    line: str,
    seconds: int | None,
    *,
    is_stated: bool,
) -> None:
    verdict = read("rcpt", line)
    assert verdict.delay == (None if seconds is None else timedelta(seconds=seconds))
    assert verdict.is_stated is is_stated


def test_a_tired_domain_rests_two_hours() -> None:
    assert read("mail", "421 4.7.0 [TSS04] deferred").delay == timedelta(hours=2)


def test_patience_with_a_full_or_unknown_mailbox_ends_after_a_day() -> None:
    assert read("rcpt", "452 4.2.2 over quota").patience == timedelta(days=1)
    assert read("rcpt", "450 4.1.1 user unknown").patience == timedelta(days=1)
    assert read("rcpt", "451 later").patience is None


def test_an_address_in_a_reply_is_not_read_as_words() -> None:
    assert (
        read("rcpt", "451 <greylist@spamhaus.example> later").reason
        is ReasonCode.RECIPIENT_DEFERRED
    )
    assert (
        read("rcpt", "550 user.unknown.greylisting@x.example no").reason
        is ReasonCode.RECIPIENT_REFUSED
    )


@given(
    stage=st.sampled_from(Stage),
    reply=st.one_of(
        st.none(),
        st.builds(
            SmtpReply,
            code=st.integers(200, 599),
            enhanced=st.one_of(
                st.none(),
                st.from_regex(r"[245]\.\d{1,3}\.\d{1,3}", fullmatch=True),
                st.text(max_size=8),
            ),
            text=st.one_of(
                st.text(max_size=1024),
                st.lists(
                    st.sampled_from(
                        [
                            "greylist",
                            "try again in",
                            "99999",
                            "00:99:99",
                            "daily",
                            "limit",
                            "<",
                            "@",
                            "not owned by",
                            "spf fail",
                            "h",
                        ]
                    ),
                    max_size=60,
                ).map(" ".join),
            ),
            raw=st.just(b""),
        ),
    ),
    is_marked=st.booleans(),
    is_dotted=st.booleans(),
)
def test_nothing_a_relay_says_breaks_it(
    stage: Stage,
    reply: SmtpReply | None,
    *,
    is_marked: bool,
    is_dotted: bool,
) -> None:
    verdict = classify(stage, reply, is_marked=is_marked, is_dotted=is_dotted)
    if verdict is None:
        assert reply is not None
        assert is_dotted
        assert 200 <= reply.code < 300
        return
    assert (verdict.class_ is Class.IN_DOUBT) <= is_dotted
    if verdict.class_ is Class.PERMANENT:
        assert reply is not None
        assert reply.code >= 500
        assert verdict.scope in {Scope.RECIPIENT, Scope.MESSAGE}
    if verdict.is_stated:
        assert verdict.delay is not None
        assert timedelta(seconds=60) <= verdict.delay <= timedelta(hours=1)


@pytest.mark.parametrize("reason", ReasonCode)
def test_every_reason_is_explained_in_a_sentence_with_what_to_do(reason: ReasonCode) -> None:
    explained = EXPLANATIONS[reason]
    assert explained.means.endswith(".")
    assert explained.to_do.endswith(".")
    assert re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)?", reason)


@pytest.mark.parametrize(
    ("code", "stage", "expected"),
    [
        (299, "dot", None),
        (300, "dot", "in_doubt relay doubt.bad_answer"),
        (399, "dot", "in_doubt relay doubt.bad_answer"),
        (400, "dot", "temporary message relay.deferred"),
        (499, "dot", "temporary message relay.deferred"),
        (500, "dot", "permanent message message.refused"),
        (499, "rcpt", "temporary recipient recipient.deferred"),
        (500, "rcpt", "permanent recipient recipient.refused"),
        (399, "rcpt", "temporary relay protocol.error"),
    ],
)
def test_what_a_code_says_ends_with_its_hundred(
    code: int, stage: str, expected: str | None
) -> None:
    verdict = classify(
        Stage(stage), a_reply(f"{code} x"), is_marked=stage == "dot", is_dotted=stage == "dot"
    )
    said = verdict and f"{verdict.class_} {verdict.scope} {verdict.reason}"
    assert said == expected


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [("59 s", 300), ("60 s", 60), ("3600 s", 3600), ("3601 s", 300), ("01:00:01", 300)],
)
def test_a_minute_and_an_hour_themselves_are_heard(asked: str, seconds: int) -> None:
    verdict = read("rcpt", f"450 greylisted, try again in {asked}")
    assert verdict.delay == timedelta(seconds=seconds)
    assert verdict.is_stated is (seconds != 300)


def test_nobody_is_patient_with_what_was_refused_for_good() -> None:
    assert read("rcpt", "550 5.1.1 user unknown").patience is None


def test_a_host_that_is_blocked_is_not_slowed_down() -> None:
    verdict = read("greeting", "554 listed at spamhaus")
    assert (verdict.reason, verdict.slows) == (ReasonCode.IP_BLOCKED, None)


def test_500_before_mail_is_for_good() -> None:
    assert read("greeting", "500 listed at spamhaus").reason is ReasonCode.IP_BLOCKED
    assert read("greeting", "499 listed at spamhaus").reason is ReasonCode.RELAY_BUSY
