"""Whole reports of today in wordings that were read otherwise at first sight: whom they name, and what they come to."""

from pathlib import Path

import pytest

from postroom.core.bounceread import Said, make_sense
from postroom.core.bouncereason import BounceClass, BounceReason
from support.mails import read


_C = BounceClass
_R = BounceReason
A, B = "ann.lee@x.example", "team@y.example"

# The answer of a server to RCPT, and its reason.
ANSWERS = {
    "a server whose own name has a word of the answer": ("550 5.7.708 Access denied, mail from this IP is not taken. Made by relay7.x.example", _R.SENDER_REFUSED),
    "a size in bytes": ("554 Message rejected: its body is more than 2048000 bytes", _R.MESSAGE_TOO_BIG),
    "a line that is too long is no mail that is": ("552 this line is too long", _R.MESSAGE_MALFORMED),
    "a mail that goes in a circle, by its fields": ("554 Too many Received: fields", _R.DOMAIN_TROUBLE),
    "a server that takes mail only from whom it knows": ("550 sender must be authenticated", _R.RELAYING_DENIED),
    "a server that is silent": ("550 their system didn't respond", _R.DOMAIN_TROUBLE),
    "what is banned is the content, not the recipient": ("554 recipient: banned content", _R.MESSAGE_REFUSED),
    "her own list": ("550 Envelope blocked - User list", _R.RECIPIENT_REFUSED),
    "she does not want it, whatever list it may come to": ("554 5.7.1 The user really does not want your mail; next time it goes to a blacklist", _R.RECIPIENT_REFUSED),
    "relays in one word": ("554 openrelay", _R.SENDER_REFUSED),
    "no spam, by local policy": ("554 5.7.1 Refused by local policy: no spam please", _R.MESSAGE_SPAM),
    "marked, whatever the reputation may be": ("554 marked as spam, or of bad reputation", _R.MESSAGE_SPAM),
    "an argument of RCPT": ("550 Invalid rcptto", _R.RECIPIENT_UNKNOWN),
    "how many are named": ("556 The number of the RCPTs is over it", _R.RATE_LIMITED),
    "a length above a threshold": ("557 The length is above the threshold", _R.MESSAGE_TOO_BIG),
    "no host, in the name of an exception": ("550 NoMxHostFound: null", _R.DOMAIN_NO_MAIL),
    "no host, by its DNS": ("526 No data by DNS", _R.DOMAIN_UNKNOWN),
    "what lies behind the server": ("550 5.7.1 Upstream unreachable", _R.DOMAIN_TROUBLE),
    "moved": ("550 5.1.6 the address has changed", _R.RECIPIENT_MOVED),
    "moved, fr": ("550 L'adresse de la personne a changé", _R.RECIPIENT_MOVED),
    "moved, de": ("550 Die Adresse der Person hat sich geändert", _R.RECIPIENT_MOVED),
    "nobody, de": ("550 5.1.1 ann wurde nicht in x.example gefunden", _R.RECIPIENT_UNKNOWN),
    "what a server lacks for now": ("451 Internal resource temporarily unavailable", _R.DOMAIN_TROUBLE),
    "how many may leave": ("554 5.7.0 The limit on the number of allowed outgoing messages was exceeded. Try again later", _R.RATE_LIMITED),
    "a connection that is not wanted": ("501 Connection rejected by policy", _R.SENDER_REFUSED),
    "we, for ever": ("550 5.7.1 you are permanently blocked here", _R.SENDER_REFUSED),
    "a domain that takes no mail, by its DNS": ("550 Failed to connect: no MX records were found for the domain", _R.DOMAIN_NO_MAIL),
    "a group that hears its own people only": ("554 5.7.0 < #5.7.133 smtp;550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required", _R.RECIPIENT_REFUSED),
    "a policy, whoever it denies": ("550 Denied by policy", _R.MESSAGE_REFUSED),
    "words that are not wanted": ("550 This mail may have improper words in it", _R.MESSAGE_REFUSED),
    "lines that are too long": ("550 it has lines too long for this transport", _R.MESSAGE_MALFORMED),
    "how many in a day, in hours": ("554 5.7.1 Data command rejected: limit of 300 rcpts per 24 hours is reached", _R.RATE_LIMITED),
    "what an account does not do else": ("550 5.4.6 Unusual sending activity seen", _R.RATE_LIMITED),
    "nobody to hand it to": ("550 No SMTP servers were available for x.example", _R.DOMAIN_TROUBLE),
    "a connection that is refused to somebody": ("554 Connection refused from 192.0.2.9", _R.SENDER_REFUSED),
    "papers, by their owner's will": ("550 5.7.0 not delivered due to domain owner policy", _R.SENDER_UNAUTHENTICATED),
    "a domain that is nobody's": ("501 5.1.5 Address reserved by a standard", _R.DOMAIN_UNKNOWN),
    "nobody, or shut": ("550 5.1.1 Mailbox not found or access denied", _R.RECIPIENT_UNKNOWN),
    "requests, as many as there may be": ("451 We have reached the limit for processing requests", _R.RATE_LIMITED),
    "a rule that somebody made": ("550 A custom mail flow rule has blocked it", _R.MESSAGE_REFUSED),
    "all the hosts of a domain": ("550 Too many failures (Tried all MXs)", _R.DOMAIN_TROUBLE),
    "no host, zh": ("550 未找到主機", _R.DOMAIN_UNKNOWN),
    "nobody, fr": ("550 5.1.1 ann n'a pas été trouvée", _R.RECIPIENT_UNKNOWN),
}  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS)
def test_an_answer_in_another_wording_has_its_reason(case: str) -> None:
    words, reason = ANSWERS[case]
    said = Said("failed", None, 550, f"{words} (in reply to RCPT TO command)")
    assert make_sense(said).reason is reason


@pytest.mark.parametrize(
    ("status", "words", "reason"),
    [
        ("5.7.1", "Service unavailable", _R.MESSAGE_REFUSED),
        ("5.3.0", "Service unavailable", _R.DOMAIN_TROUBLE),
        ("5.7.3", "STARTTLS is required to send mail", _R.DOMAIN_TROUBLE),
    ],
)
def test_what_many_answers_begin_with_is_trouble_unless_the_status_says_more(
    status: str, words: str, reason: BounceReason
) -> None:
    assert make_sense(Said("failed", status, 550, f"550 {status} {words}")).reason is reason


def test_an_account_that_is_not_available_is_not_gone() -> None:
    sense = make_sense(
        Said("failed", "5.0.0", 551, "551 the account unavailable (in reply to RCPT")
    )
    assert (sense.reason, sense.suppression) == (_R.RECIPIENT_DISABLED, None)


def test_who_is_left_over_at_data_need_not_be_unknown() -> None:
    """The answer to DATA where all recipients were refused, for whatever reason."""
    sense = make_sense(Said("failed", "5.5.1", 554, "554 5.5.1 Error: no valid recipients"))
    assert (sense.reason, sense.suppression) == (_R.RECIPIENT_REFUSED, None)


@pytest.mark.parametrize(
    ("place", "reason"), [("MAIL FROM", _R.SENDER_REFUSED), ("RCPT TO", _R.DOMAIN_TROUBLE)]
)
def test_an_address_that_can_not_be_verified_is_whose_has_been_named(
    place: str, reason: BounceReason
) -> None:
    said = Said("failed", None, 451, f"451 no way to verify address (in reply to {place} command)")
    assert make_sense(said).reason is reason


MAILS = {
    "Exchange guesses, and tells below": (
        f"Delivery has failed to these recipients:\n\n{A}\nIt was not delivered because of security policies.\n\n"
        f"Diagnostic information for administrators:\n\nGenerating server: ex.y.example\n\n{A}\n#550 5.1.1 Invalid recipient ##\n",
        (A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN),
    ),
    "Exchange guesses, and a server tells behind the address": (
        f"Delivery has failed to these recipients:\n\nthe team\nIt was not delivered because of security policies.\n\n"
        f"Diagnostic information for administrators:\n\nGenerating server: ex.y.example\n\n{A}\nmx.x.example #550 5.7.1 <{A}>: Recipient address rejected: Invalid recipient ##\n",
        (A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN),
    ),
    "gone, or else away for a time": (
        f"Your mail is returned.\n\nRecipient: {A}\nTheir address does not exist, or is temporarily unavailable.\n",
        (A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN),
    ),
    "a sentence across two lines": (
        f"Sadly it could not\nbe delivered to one of them:\n\n<{A}>: host mx.x.example said:\n    552 her mailbox is full\n",
        (A, _C.TEMPORARY, _R.RECIPIENT_MAILBOX_FULL),
    ),
    "a mail that is blocked is no account": (
        f"Your message to {A} has been blocked. See technical details below for more information.\n",
        (A, _C.PERMANENT, _R.UNKNOWN),
    ),
    "good news": (
        f"Your message was successfully delivered to the destination(s) listed below. You may still hear of mail delivery errors.\n\n"
        f"<{A}>: delivery via mx.x.example[192.0.2.9]:25: 250 ok: Message 77 accepted\n",
        (A, _C.NONE, _R.DELIVERED),
    ),
    "good news for one of two": (
        f"It was successfully delivered to others. It could not be delivered to:\n\n<{A}>: 552 5.2.2 over quota\n",
        (A, _C.TEMPORARY, _R.RECIPIENT_MAILBOX_FULL),
    ),
    "Gmail guesses, and tells below": (
        f"It couldn't be delivered to {A}. Their inbox is full, or it's getting too much mail right now.\n\n"
        f"The response from the remote server was:\n550 5.1.1 <{A}>: Address does not exist\n",
        (A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN),
    ),
    "where it was expanded from, on the next line": (
        f"<{A}> (expanded from\n    <{B}>): host mx.x.example[192.0.2.9] said: 552 5.2.2 over quota (in\n    reply to RCPT TO command)\n",
        (A, _C.TEMPORARY, _R.RECIPIENT_MAILBOX_FULL),
    ),
    "behind a name": (
        f"Delivery failed for these recipients or groups:\n\nAnn Lee ({A})<mailto:{A}>\nThe mailbox is full.\n",
        (A, _C.TEMPORARY, _R.RECIPIENT_MAILBOX_FULL),
    ),
    "in front of the code": (
        f"It couldn't be delivered to all. Not reachable are:\n'{A}' 552 5.2.2 over quota\n",
        (A, _C.TEMPORARY, _R.RECIPIENT_MAILBOX_FULL),
    ),
    "in a sentence, de": (
        f"Ihre Nachricht an {A} konnte nicht zugestellt werden.\n\nann.lee wurde nicht in x.example gefunden.\n",
        (A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN),
    ),
    "in brackets, and said to be none": (
        f"Unable to send to {A}\nBounce reason: The recipient's address ({A}) does not exist.\n550 No such user (T)\n",
        (A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN),
    ),
    "a filter that points at her": (
        f"A message from <us@y.example>\nto:\n-> {A}\n\nwas considered unsolicited bulk e-mail.\n",
        (A, _C.PERMANENT, _R.MESSAGE_SPAM),
    ),
    "a chapter of a standard is no status": (
        f"<{A}>: 550 Invalid HELO, see RFC 2821 4.1.3\n",
        (A, _C.PERMANENT, _R.SENDER_REFUSED),
    ),
    "a word of the program's before the reason": (
        f"<{A}>\n\nReaction of the server:\nError: Some recipients failed: <{A}>\n",
        (A, _C.PERMANENT, _R.UNKNOWN),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MAILS)
def test_a_report_in_another_wording_names_whom_and_says_why(case: str, tmp_path: Path) -> None:
    text, wanted = MAILS[case]
    parsed = read(
        f"From: MAILER-DAEMON@mx.example\nTo: us@y.example\nSubject: Mail delivery\n\n{text}",
        "",
        tmp_path,
    )
    assert parsed.report is not None
    assert [
        (one.recipient, one.sense.class_, one.sense.reason) for one in parsed.report.recipients
    ] == [wanted]
