"""Whole reports as filters, gateways and other servers hand them on: what they come to, and what is none."""

from pathlib import Path

import pytest

from postroom.core.bouncereason import BounceClass, BounceReason
from postroom.core.inmail import AutomationKind, InMail
from support.mails import read


_C = BounceClass
_R = BounceReason
A, B = "a@x.example", "b@x.example"


def says(parsed: InMail) -> list[tuple[object, ...]]:
    return [
        (one.recipient, one.sense.class_, one.sense.reason)
        for one in (parsed.report.recipients if parsed.report else ())
    ]


def plain(text: str, subject: str = "failure notice", head: str = "") -> str:
    return f"From: MAILER-DAEMON@mx.example\nTo: us@y.example\nSubject: {subject}\n{head}\n{text}"


def typed(status: str, kind: str = "delivery-status", words: str = "It failed.") -> str:
    return (
        f"From: MAILER-DAEMON@mx.example\nSubject: x\nContent-Type: multipart/report; report-type={kind}; boundary=b\n\n"
        f"--b\n\n{words}\n--b\nContent-Type: message/{kind}\n\n{status}\n--b--\n"
    )


GONE = (A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN)
FULL = (A, _C.TEMPORARY, _R.RECIPIENT_MAILBOX_FULL)
AWAY = (A, _C.TEMPORARY, _R.DOMAIN_TROUBLE)
BLOCK = f"Final-Recipient: rfc822;{A}\nAction: failed\n"

MAILS = {
    "a letter in front of what is enclosed is not closed": (
        plain(f"<{A}>:\nRemote host said: 550-5.1.1 The email account does not exist.\n\n--- Enclosed are the original headers of the message.\nHow your account was closed\n"),
        [GONE],
    ),
    "nor is what is disclosed": (plain(f"<{A}>:\n550 5.1.1 The account does not exist, no more is disclosed\n"), [GONE]),
    "nor is an inbox that is carefully full": (plain(f"<{A}>:\n550 5.1.1 unknown user, look at your inbox carefully\n"), [GONE]),
    "after the message, qmail": (
        plain(f"<{A}>:\n192.0.2.7 failed after I sent the message.\nRemote host said: 554 This user doesn't have an account here\n"),
        [(A, _C.PERMANENT, _R.RECIPIENT_REFUSED)],
    ),
    "after RCPT, in other words": (plain(f"<{A}>\nSMTP error after RCPT command:\nhost mx.x.example[192.0.2.9]:\n550 user unknown\n"), [GONE]),
    "a transcript whose server can take 8 bits": (plain(f"> {A}\n250-8BITMIME\n250 SIZE\nRCPT To:<{A}>\n552 would exceed the mailbox quota\n"), [FULL]),
    "a gateway's footer": (plain(f"<{A}>: 550 5.1.1 user unknown\n----------\nFollow the link to report this email as spam\n"), [GONE]),
    "the header of the original among the words": (
        plain(f"Your message\n\n  To: {B}\n  Subject: unknown user\n  Sent: Mon, 30 Nov 2026\n\ndid not reach the following recipient(s):\n\n{A} on Mon, 30 Nov 2026 10:00:00 +0000\n    The mailbox is full\n", "Undeliverable: x"),
        [FULL],
    ),
    "an address of X.400": (plain(f"did not reach the following recipient(s):\n\nc=XX;p=House;o=Floor;dda:SMTP={A}; on Mon, 30 Nov 2026\n    The recipient name is not recognized\n"), [GONE]),
    "in Chinese": (plain(f"无法发送到 {A}\n退信原因:收件方邮箱可用容量不足\n", "退信"), [FULL]),
    "a command that it sent": (plain(f"{A}\nIt sent: RCPT TO:<{A}>\nRemote server replied: 550 User unknown\n"), [GONE]),
    "what the old message said": (plain(f"It could not be delivered to the following user:\n\n<{A}>\n\nOld message:\n\nPost by non-member\n"), [(A, _C.PERMANENT, _R.UNKNOWN)]),
    "not collected": (plain(f"The message, addressed to '{A}', failed because it has not been collected after 30 days\n"), [AWAY]),
    "at RCPT, as an old server says it": (plain(f"Unknown user: {A}\nRCPT TO generated following response:\n553 5.3.0 Addressee unknown\n"), [GONE]),
    "who rejected it is no reason": (
        typed(f"{BLOCK}Status: 5.1.1\n", words=f"{A}\nThe following organization rejected your message: mx.x.example.\n"),
        [GONE],
    ),
    "the original's Message-ID is no recipient": (
        plain(f"It is about a message with the following header fields:\n  Message-id: <1@y.example>\n  From: {B}\n  Subject: x\n\n  Recipient address: {A}\n  Reason: quota reached, out of storage\n"),
        [FULL],
    ),
    "fields of the original are not malformed": (typed(f"{BLOCK}Status: 5.0.0\n", words="About a message with the following header fields: none.\nReason: the user reached his quota"), [FULL]),
    "two, and what is said of each": (
        plain(f"{A} - mailbox is full\n{B} - no such user here\n", "Undelivered"),
        [FULL, (B, _C.PERMANENT, _R.RECIPIENT_UNKNOWN)],
    ),
    "a gateway of X.400": (
        typed(f'{BLOCK}Status: 5.0.0\nDiagnostic-Code: Reason 1 (Unable-To-Transfer)\nX400-Supplementary-Info: "it says 5.7.1 Unable to relay for a"\n'),
        [(A, _C.PERMANENT, _R.RELAYING_DENIED)],
    ),
    "to a list's owner": (plain(f"{A} - no such user here.\nThere is no user by that name.\n", "Warning", "Precedence: bulk\n"), [GONE]),
    "another system's field": (typed(f"{BLOCK}Status: 5.0.0\nX-Supplementary-Info: <mx.x.example #5.2.2 smtp;552 5.2.2 the mailbox is full>\n"), [FULL]),
    "a remark behind the status": (typed(f"{BLOCK}Status: 5.0.0 (recipient reached disk quota)\n"), [FULL]),
    "a remark behind the action": (typed(f"Final-Recipient: rfc822;{A}\nAction: failed (mailbox is full)\nStatus: 5.0.0\n"), [FULL]),
    "an answer there comes before a remark": (typed(f"{BLOCK}Status: 5.0.0 (unknown user)\nDiagnostic-Code: smtp; 552 mailbox is full\n"), [FULL]),
    "blocks that a gateway coded": (
        typed(
            "Reporting-MTA: dns; mx.example\nContent-Transfer-Encoding: base64\nContent-Length: 87\n\n"
            "RmluYWwtUmVjaXBpZW50OiByZmM4MjI7IGFAeC5leGFtcGxlCkFjdGlvbjogZmFpbGVkClN0YXR1czog\nNS4xLjEK\n"
        ),
        [GONE],
    ),
    "code that is none": (typed(f"{BLOCK}Content-Transfer-Encoding: base64\n\nnot!a=code\n"), [(A, _C.PERMANENT, _R.UNKNOWN)]),
    "a sender's own words around": (
        typed(f"{BLOCK}Status: 5.3.0\nDiagnostic-Code: smtp; 553 5.3.0 Unknown E-Mail Address\n", words=f"<{A}>\n550 <{A}>... User unknown"),
        [GONE],
    ),
    "several in one field": (
        typed(f"Feedback-Type: abuse\nOriginal-Rcpt-To: <{A}>,\n <{B}>\n", "feedback-report"),
        [(A, _C.COMPLAINT, _R.FEEDBACK), (B, _C.COMPLAINT, _R.FEEDBACK)],
    ),
    "a quoted local part": (typed('Final-Recipient: rfc822;"a.a"@x.example\nAction: failed\nStatus: 5.1.1\n'), [('"a.a"@x.example', _C.PERMANENT, _R.RECIPIENT_UNKNOWN)]),
    "a quoted address": (typed(f'Final-Recipient: rfc822;"{A}"\nAction: failed\nStatus: 5.1.1\n'), [GONE]),
}  # fmt: skip


@pytest.mark.parametrize("case", MAILS)
def test_a_report_in_another_form_comes_to_the_same(case: str, tmp_path: Path) -> None:
    raw, wanted = MAILS[case]
    parsed = read(raw, "", tmp_path)
    assert says(parsed) == wanted
    assert parsed.automation is AutomationKind.REPORT


SAID_BY_A_FILTER = {
    "full": ("Quota exceeded (mailbox for user is full)", FULL),
    "in her own words": ("Nothing from you, please.", (A, _C.PERMANENT, _R.RECIPIENT_REFUSED)),
    "who says that she is unknown": ("unknown user", (A, _C.PERMANENT, _R.RECIPIENT_REFUSED)),
}


@pytest.mark.parametrize("case", SAID_BY_A_FILTER)
def test_a_filter_that_sends_mail_back_by_a_receipt_reports_it(case: str, tmp_path: Path) -> None:
    words, wanted = SAID_BY_A_FILTER[case]
    receipt = f"Final-Recipient: rfc822; {A}\nDisposition: automatic-action/MDN-sent-automatically; deleted\n"
    text = f"Your message to <{A}> was automatically rejected:\n{words}"
    parsed = read(typed(receipt, "disposition-notification", text), "", tmp_path)
    assert says(parsed) == [wanted]
    assert parsed.report is not None
    assert {one.sense.suppression for one in parsed.report.recipients} == {None}


NO_REJECTIONS = {
    "read": ("displayed", f"Your message to {A} was read on Monday."),
    "deleted unread": ("deleted", f"Your message to {A} was deleted without being read."),
    "read, and said to be rejected": ("displayed", "It was rejected, she says."),
}


@pytest.mark.parametrize("case", NO_REJECTIONS)
def test_a_receipt_is_no_report(case: str, tmp_path: Path) -> None:
    disposition, words = NO_REJECTIONS[case]
    receipt = f"Final-Recipient: rfc822; {A}\nDisposition: manual-action/MDN-sent-manually; {disposition}\n"
    raw = typed(receipt, "disposition-notification", words)
    parsed = read(raw.replace("MAILER-DAEMON@mx", "alice@x"), "alice@x.example", tmp_path)
    assert parsed.report is None
    assert parsed.automation is AutomationKind.AUTO_REPLY


def test_a_report_with_a_sender_that_says_neither_who_nor_why_is_none(tmp_path: Path) -> None:
    text = plain("You have 3 messages that could not be sent. Click here.\n", "Undeliverable: mail")
    assert read(text, "x@y.example", tmp_path).report is None
    told = plain(f"<{A}>: 550 5.1.1 unknown user\n", "Undeliverable: mail")
    assert says(read(told, "x@y.example", tmp_path)) == [GONE]
    assert says(read(text, "", tmp_path)) == [(None, _C.PERMANENT, _R.UNKNOWN)]


@pytest.mark.parametrize("head", ["Precedence: bulk", "X-ML-Name: l"])
def test_a_report_may_look_like_a_mailing(head: str, tmp_path: Path) -> None:
    raw = plain(f"<{A}>: 550 5.1.1 unknown user\n", "Warning", f"{head}\n")
    parsed = read(raw.replace("MAILER-DAEMON", "robot"), "", tmp_path)
    assert says(parsed) == [GONE]
    assert parsed.evidence == ("report-words",)


def test_a_padded_line_before_the_header_is_none() -> None:
    parsed = read(
        f"   \t \nDelivered-To: us@y.example\nSubject: x\nPrecedence: auto_reply\n\n{A}\n"
    )
    assert parsed.subject == "x"
    assert parsed.automation is AutomationKind.AUTO_REPLY


def test_many_quoted_headers_take_no_longer_than_their_lines(tmp_path: Path) -> None:
    """The suite's time limit is the bound."""
    lines = "To: a\nSubject: b\nx\n" * 20_000 + "to:" * 100_000
    assert read(plain(lines), "", tmp_path).report is not None
