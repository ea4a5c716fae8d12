"""Delivery reports (RFC 3464): each recipient's own words, whatever the MIME around them."""

from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.bouncereason import NO_SENSE
from postroom.core.inmail import AutomationKind, InMail, Report, ReportedRecipient
from support.mails import ALICE, read


def report(
    status: str, original: str = "", *, head: str = "", kind: str = "text/rfc822-headers"
) -> str:
    returned = f"\n--b\nContent-Type: {kind}\n\n{original}\n" if original else ""
    return (
        "From: MAILER-DAEMON@mx.example\nSubject: Undelivered Mail\n"
        f"{head or 'Content-Type: multipart/report; report-type=delivery-status; boundary=b'}\n\n"
        f"--b\n\nIt could not be delivered.\n--b\nContent-Type: message/delivery-status\n\n{status}{returned}\n--b--\n"
    )


def fields(parsed: InMail) -> Report | None:
    """What the report says, without what it comes to."""
    found = parsed.report
    return found and replace(
        found, recipients=tuple(replace(one, sense=NO_SENSE) for one in found.recipients)
    )


MESSAGE = "Reporting-MTA: dns; mx.example\nArrival-Date: Mon, 30 Nov 2026 10:00:00 +0000\n"
FAILED = "Final-Recipient: rfc822; a@x.example\nAction: failed\nStatus: 5.1.1\n"


def test_a_report_says_what_became_of_each_recipient(tmp_path: Path) -> None:
    parsed = read(
        report(
            f"{MESSAGE}\nFinal-Recipient: rfc822; a@x.example\nOriginal-Recipient: rfc822;alias@y.example\n"
            "Action: failed\nStatus: 5.2.1 (disabled)\nRemote-MTA: dns; mx.x.example\n"
            "Diagnostic-Code: smtp; 550 5.2.1\n  disabled\n"
            "\nFinal-Recipient: rfc822; b@x.example\nAction: Delayed\nStatus: 4.4.1\nDiagnostic-Code: X-Postfix; no answer\n",
            "Message-ID: <1@y.example>\nSubject: s\n",
        ),
        "",
        tmp_path,
    )
    assert parsed.automation is AutomationKind.REPORT
    assert parsed.text == "It could not be delivered."
    assert fields(parsed) == Report(
        recipients=(
            ReportedRecipient(
                "alias@y.example",
                "failed",
                "5.2.1",
                "smtp; 550 5.2.1 disabled",
                "mx.x.example",
                550,
            ),
            ReportedRecipient("b@x.example", "delayed", "4.4.1", "X-Postfix; no answer", None),
        ),
        original_message_id="<1@y.example>",
        reporting_mta="mx.example",
    )


ACTIONS = ("failed", "delayed", "delivered", "relayed", "expanded", "expired")


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_is_handed_on_as_it_stands(action: str, tmp_path: Path) -> None:
    parsed = read(
        report(
            f"{MESSAGE}\nFinal-Recipient: rfc822;a@x.example\nAction: {action}\nStatus: 4.0.0\n"
        ),
        "",
    )
    assert parsed.report is not None
    assert [one.action for one in parsed.report.recipients] == [action]


# Reports whose one recipient is a@x.example, failed, 5.1.1.
DAMAGED = {
    "no blank line between the blocks": report(MESSAGE + FAILED),
    "only the recipient's block": report(FAILED),
    "blank lines before": report(f"\n\n{MESSAGE}\n\n\n{FAILED}"),
    "no type at the top": report(f"{MESSAGE}\n{FAILED}", head="Content-Type: multipart/mixed; boundary=b"),
    "B11 no boundary": report(
        f"{MESSAGE}\n{FAILED}", head="Content-Type: multipart/report; report-type=delivery-status"
    ),
    "B11 another boundary": report(
        f"{MESSAGE}\n{FAILED}", head="Content-Type: multipart/report; report-type=delivery-status; boundary=c"
    ),
    "B11 no type of content at all": report(f"{MESSAGE}\n{FAILED}", head="X-A: b"),
    "in quoted text": (
        "Subject: Delivery Status Notification\nContent-Transfer-Encoding: quoted-printable\n\n"
        "Action: failed\nFinal-Recipient:=\n rfc822; a@x.example\nSt=\natus: 5.1.1\n"
    ),
    "an answer that is not folded": report(
        f"{MESSAGE}\nDiagnostic-Code:\n550-mx.example: no\n550 such user\n{FAILED}"
    ).replace("Diagnostic-Code:", "X-Code:"),
    "angle brackets": report(f"{MESSAGE}\n{FAILED.replace('a@x.example', '<a@x.example>')}"),
    "no type of address": report(f"{MESSAGE}\n{FAILED.replace('rfc822; ', '')}"),
    "the type of address twice": report(f"{MESSAGE}\n{FAILED.replace('rfc822; ', 'rfc822; rfc822;')}"),
    "base64": report("").replace(
        "message/delivery-status\n\n",
        "message/delivery-status\nContent-Transfer-Encoding: base64\n\n"
        "RmluYWwtUmVjaXBpZW50OiByZmM4MjI7IGFAeC5leGFtcGxlCkFjdGlvbjogZmFpbGVkClN0YXR1czogNS4xLjEK",
    ),
    "international": report(f"{MESSAGE}\n{FAILED.replace('rfc822', 'utf-8')}").replace(
        "message/delivery-status\n", "message/global-delivery-status\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_report_is_read(case: str, tmp_path: Path) -> None:
    found = fields(read(DAMAGED[case], "", tmp_path))
    assert found is not None
    assert found.recipients == (ReportedRecipient("a@x.example", "failed", "5.1.1", None, None),)


ORIGINALS = ("text/rfc822-headers", "message/rfc822", "message/rfc822-headers", "message/global")


@pytest.mark.parametrize("kind", ORIGINALS)
def test_the_original_is_found_in_what_is_returned(kind: str, tmp_path: Path) -> None:
    original = "\nReceived: by mx\nMessage-ID:\n <1@y.example>\n\nwords\n"
    parsed = read(report(f"{MESSAGE}\n{FAILED}", original, kind=kind), "", tmp_path)
    assert parsed.report is not None
    assert parsed.report.original_message_id == "<1@y.example>"


def test_the_original_is_found_where_the_mime_is_broken(tmp_path: Path) -> None:
    parsed = read(
        report(f"{MESSAGE}\n{FAILED}", "Message-ID: <1@y.example>\n").replace(
            "boundary=b", "boundary=never"
        ),
        "",
    )
    assert parsed.report is not None
    assert parsed.report.original_message_id == "<1@y.example>"


def test_a_complaint_is_a_report_of_its_recipient(tmp_path: Path) -> None:
    parsed = read(
        "From: fbl@provider.example\nSubject: complaint\n"
        "Content-Type: multipart/report; report-type=feedback-report; boundary=b\n\n--b\n\nA complaint.\n"
        "--b\nContent-Type: message/feedback-report\n\nFeedback-Type: abuse\nOriginal-Rcpt-To: <a@x.example>\n"
        "--b\nContent-Type: message/rfc822\n\nMessage-ID: <1@y.example>\n\nwords\n--b--\n",
        "fbl@provider.example",
        tmp_path,
    )
    assert parsed.automation is AutomationKind.REPORT
    assert fields(parsed) == Report(
        (ReportedRecipient("a@x.example", "complained", None, "abuse", None),),
        "<1@y.example>",
    )


def test_a_person_who_quotes_or_attaches_a_report_reports_nothing(tmp_path: Path) -> None:
    quoted = read(f"From: {ALICE}\nSubject: What is this?\n\n{MESSAGE}\n{FAILED}")
    assert quoted.report is None
    assert quoted.automation is AutomationKind.HUMAN
    attached = read(
        f"From: {ALICE}\nSubject: What is this?\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nThis came.\n"
        f"--b\nContent-Type: message/delivery-status\nContent-Disposition: attachment\n\n{FAILED}\n--b--\n",
        directory=tmp_path,
    )
    assert attached.report is None
    assert attached.automation is AutomationKind.HUMAN


def test_a_complaint_that_keeps_back_who_complained_is_a_complaint(tmp_path: Path) -> None:
    parsed = read(
        "From: fbl@mx.example\nSubject: complaint\n"
        "Content-Type: multipart/report; report-type=feedback-report; boundary=b\n\n"
        "--b\n\nA user says 550 words.\n--b\nContent-Type: message/feedback-report\n\nFeedback-Type: abuse\n--b--\n",
        "",
        tmp_path,
    )
    found = fields(parsed)
    assert found is not None
    assert found.recipients == (ReportedRecipient(None, "complained", None, "abuse", None),)
