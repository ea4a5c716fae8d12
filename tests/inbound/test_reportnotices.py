"""Notices in JSON, complaints and feedback: whom they name, and what they come to (CASES B)."""

import json
from pathlib import Path

import pytest

from postroom.core.bouncereason import BounceClass, BounceReason
from postroom.core.inmail import AutomationKind
from support.mails import comes_to, read


_C = BounceClass
_R = BounceReason
A = "a@x.example"
UNKNOWN = (A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN, "5.1.1", 550)
SES = {
    "B22 bounce": (
        {"notificationType": "Bounce", "bounce": {"bouncedRecipients": [{"emailAddress": A, "action": "failed", "status": "5.1.1", "diagnosticCode": "smtp; 550 5.1.1 user unknown"}]}},
        [UNKNOWN],
    ),
    "B22 complaint": (
        {"notificationType": "Complaint", "complaint": {"complainedRecipients": [{"emailAddress": A}], "complaintFeedbackType": "abuse"}},
        [(A, _C.COMPLAINT, _R.FEEDBACK, None, None)],
    ),
    "B22 delivery": (
        {"notificationType": "Delivery", "delivery": {"recipients": [A], "smtpResponse": "250 2.6.0 ok"}},
        [(A, _C.NONE, _R.DELIVERED, "2.6.0", 250)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("is_wrapped", [False, True], ids=["bare", "in an envelope"])
@pytest.mark.parametrize("case", SES)
def test_a_notice_in_json_is_read(case: str, is_wrapped: bool, tmp_path: Path) -> None:  # noqa: FBT001
    notice, wanted = SES[case]
    text = json.dumps(
        {"Type": "Notification", "Message": json.dumps(notice)} if is_wrapped else notice
    )
    parsed = read(
        f"From: SES <no-reply@sns.amazonaws.com>\nSubject: AWS Notification Message\n\n{text[:60]}\n{text[60:]}\n\n--\nUnsubscribe\n",
        "x@amazonses.com",
        tmp_path,
    )
    assert parsed.automation is AutomationKind.REPORT
    assert parsed.report is not None
    assert [comes_to(one) for one in parsed.report.recipients] == wanted


NO_NOTICES = [
    "[" * 20_000,
    "{",
    "{}",
    '{"bounce": 7}',
    '{"bounce": {"bouncedRecipients": [1, {"emailAddress": 2}]}}',
    '{"Message": "{"}',
]


@pytest.mark.parametrize("text", NO_NOTICES, ids=[one[:20] for one in NO_NOTICES])
def test_a_broken_notice_names_nobody(text: str, tmp_path: Path) -> None:
    parsed = read(
        f"From: no-reply@sns.amazonaws.com\nSubject: AWS Notification Message\n\n{text}\n",
        "x@amazonses.com",
        tmp_path,
    )
    assert parsed.report is None or {one.recipient for one in parsed.report.recipients} == {None}


def test_a_complaint_may_be_a_subject_and_the_mail(tmp_path: Path) -> None:
    parsed = read(
        "From: staff@provider.example\nSubject: complaint about message from 192.0.2.9\nContent-Type: message/rfc822\n\n"
        f"X-HmXmrOriginalRecipient: {A}\nMessage-ID: <1@y.example>\n\nHi\n",
        "staff@provider.example",
        tmp_path,
    )
    assert parsed.report is not None
    assert [comes_to(one) for one in parsed.report.recipients] == [
        (A, _C.COMPLAINT, _R.FEEDBACK, None, None)
    ]
    assert parsed.report.original_message_id == "<1@y.example>"


@pytest.mark.parametrize("kind", ["auth-failure", "not-spam"])
def test_feedback_that_is_no_persons_complaint_is_none(kind: str, tmp_path: Path) -> None:
    parsed = read(
        "From: fbl@provider.example\nSubject: report\nContent-Type: multipart/report; report-type=feedback-report; boundary=b\n\n"
        f"--b\n\nA report.\n--b\nContent-Type: message/feedback-report\n\nFeedback-Type: {kind}\nOriginal-Rcpt-To: {A}\n--b--\n",
        "fbl@provider.example",
        tmp_path,
    )
    assert parsed.report is not None
    assert [comes_to(one) for one in parsed.report.recipients] == [
        (A, _C.NONE, _R.FEEDBACK, None, None)
    ]
