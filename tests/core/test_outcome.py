"""How replies are read: the cases that relays really give, silence among them."""

import pytest

from postroom.core.outcome import Verdict, classify, unfit
from postroom.core.reason import ReasonCode
from postroom.core.reply import Stage
from postroom.core.replytable import Class, Scope
from support.replies import a_reply, read


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


def test_500_before_mail_is_for_good() -> None:
    assert read("greeting", "500 listed at spamhaus").reason is ReasonCode.IP_BLOCKED
    assert read("greeting", "499 listed at spamhaus").reason is ReasonCode.RELAY_BUSY
