"""Every phrase of the table of replies, one line each, beside what the code alone would say."""

import pytest

from postroom.core.outcome import classify
from postroom.core.reason import ReasonCode
from postroom.core.reply import SmtpReply, Stage
from postroom.core.replytable import WORDS_AFTER, WORDS_BEFORE


R = ReasonCode
LINES: dict[ReasonCode, tuple[str, tuple[str, ...]]] = {
    R.GREYLISTED: ("rcpt 451", (
        "you are greylisted", "graylisted for now", "by our grey-list", "see grey.rbl.example", "you are grey listed",
    )),
    R.SENDER_REFUSED: ("mail 550", (
        "address not owned by user", "SendAsDenied; a@x.example not allowed", "send as another is not allowed here",
        "no permission to send as this sender", "sender address is not verified", "Email address is not verified",
        "Sending paused for this account", "this sender is not authorized", "this sender is not authorised",
        "this sender is not allowed", "Sender address rejected", "access denied for this sender", "sender refused",
        "sender rejected by policy",
    )),
    R.AUTH_FAILED: ("mail 550", (
        "Authentication required", "please authenticate first", "you must authenticate",
        "the client was not authenticated", "Must issue a STARTTLS command first",
    )),
    R.RELAYING_DENIED: ("mail 550", (
        "Relay access denied", "Relaying denied", "Relay denied", "Relay not permitted", "Relaying not allowed",
        "Unable to relay", "you are not permitted to relay",
    )),
    R.SENDER_UNAUTHENTICATED: ("dot 550", ("the SPF check failed", "refused by DMARC")),
    R.QUOTA_DAILY: ("mail 450", (
        "the daily limit is reached", "the daily quota is used up", "your sending quota is used up",
        "your tenant has exceeded what it may send",
    )),
    R.IP_BLOCKED: ("mail 550", (
        "listed at Spamhaus", "listed at SpamCop", "see barracudacentral", "Banned sending IP", "blocked using a list",
        "your IP address is on a blacklist", "your IP address is on a blocklist", "your IP address is on a block list",
        "no PTR record", "no reverse DNS",
    )),
    R.RECIPIENT_DEFERRED: ("rcpt 550", ("is receiving mail too quickly", "is receiving mail at a rate that is too high")),
    R.RECIPIENT_MAILBOX_FULL: ("rcpt 550", (
        "over quota", "overquota", "out of storage space", "mailbox full", "the mailbox is full", "quota exceeded",
    )),
    R.RECIPIENT_UNKNOWN: ("rcpt 550", (
        "user unknown", "unknown user", "no such user", "no such recipient", "no such mailbox", "recipient not found",
        "recipient unknown", "user not found", "it does not exist", "x.example doesn't have a box of this name",
    )),
    R.RECIPIENT_DISABLED: ("rcpt 550", ("the account is disabled", "the account is inactive", "this mailbox is disabled")),
    R.DOMAIN_UNKNOWN: ("rcpt 550", ("Domain not found", "Host not found")),
    R.MESSAGE_TOO_BIG: ("dot 550", (
        "the message is too large", "the message is too big", "message size exceeds what we take", "over the size limit",
    )),
    R.SMTPUTF8_UNSUPPORTED: ("mail 550", ("SMTPUTF8 is not supported",)),
    R.MESSAGE_SPAM: ("dot 550", ("this looks like spam", "unsolicited mail is refused")),
    R.MESSAGE_MALFORMED: ("dot 550", ("bare LF in the message", "bare newline received", "line too long")),
    R.RELAY_STORAGE_FULL: ("mail 450", ("insufficient system storage",)),
}  # fmt: skip
EACH = [
    pytest.param(where, text, reason, id=text)
    for reason, (where, texts) in LINES.items()
    for text in texts
]


def reason_of(where: str, text: str) -> ReasonCode:
    stage, code = where.split()
    reply = SmtpReply(int(code), None, text, b"")
    is_dot = stage == "dot"
    verdict = classify(Stage(stage), reply, is_marked=is_dot, is_dotted=is_dot)
    assert verdict is not None
    return verdict.reason


@pytest.mark.parametrize(("where", "text", "reason"), EACH)
def test_a_phrase_says_more_than_its_code(where: str, text: str, reason: ReasonCode) -> None:
    assert reason_of(where, text) is reason
    assert reason_of(where, "no") is not reason or reason is R.RECIPIENT_DEFERRED


def test_every_row_of_the_table_has_a_line() -> None:
    said = [text.lower() for _, texts in LINES.values() for text in texts]
    for row in (*WORDS_BEFORE, *WORDS_AFTER):
        assert any(all(needle in text for needle in row.needles) for text in said), row.needles


@pytest.mark.parametrize(
    ("where", "text"),
    [
        pytest.param("mail 450", "Sender address rejected", id="for now only: no word on us"),
        pytest.param("mail 450", "authentication required", id="for now only: no wrong password"),
        pytest.param("mail 450", "please authenticate first", id="the same, first"),
        pytest.param("mail 450", "you must authenticate", id="the same, must"),
        pytest.param("mail 450", "the client was not authenticated", id="the same, client"),
        pytest.param("mail 450", "must issue a STARTTLS command", id="the same, STARTTLS"),
        pytest.param("dot 450", "the SPF check failed", id="SPF may pass tomorrow"),
        pytest.param("dot 450", "refused by DMARC", id="DMARC too"),
        pytest.param("mail 450", "no PTR record", id="DNS may answer tomorrow"),
        pytest.param("mail 450", "no reverse DNS", id="the same"),
        pytest.param("rcpt 450", "it does not exist", id="may be there tomorrow"),
        pytest.param("rcpt 450", "doesn't have a box", id="the same box"),
        pytest.param("rcpt 450", "host not found", id="a name server that does not answer"),
        pytest.param("mail 450", "SMTPUTF8 is not supported", id="not now"),
        pytest.param("dot 450", "this looks like spam", id="not sure yet"),
        pytest.param("dot 450", "unsolicited", id="not sure either"),
        pytest.param("mail 550", "user unknown", id="at MAIL it is not the recipient"),
        pytest.param("mail 550", "the account is disabled", id="nor is this"),
        pytest.param("dot 550", "domain not found", id="at the dot it is not the domain"),
        pytest.param("rcpt 550", "the sender is not allowed", id="at RCPT it may be the recipient"),
    ],
)
def test_what_means_it_only_for_good_or_only_in_its_place_is_not_believed_elsewhere(
    where: str, text: str
) -> None:
    assert reason_of(where, text) is reason_of(where, "no")
