"""What makes a mail a report, and mail that only speaks of one (CASES B13, B14)."""

from pathlib import Path

import pytest

from postroom.core.bouncereason import BounceClass, BounceReason
from postroom.core.inmail import AutomationKind
from support.mails import comes_to, read


_C = BounceClass
_R = BounceReason
A, B = "a@x.example", "b@x.example"
UNKNOWN = (A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN, "5.1.1", 550)


def test_a_mail_from_nobody_that_says_it_is_a_report_is_one(tmp_path: Path) -> None:
    text = f"Your mail could not be delivered to: <{A}>\nAs their mailbox is full.\n"
    parsed = read(f"From: no-reply@x.example\nSubject: Notice\n\n{text}", "", tmp_path)
    assert (parsed.automation, parsed.evidence) == (AutomationKind.REPORT, ("report-words",))
    assert parsed.report is not None
    assert [one.recipient for one in parsed.report.recipients] == [A]


def test_a_mail_from_nobody_that_shows_a_servers_answer_is_a_report(tmp_path: Path) -> None:
    text = f"Sent <<< RCPT TO:<{A}>\nReceived >>> 550 5.1.1 <{A}>... user unknown\n"
    parsed = read(f"From: postmaster@x.example\nSubject: Notice\n\n{text}", "", tmp_path)
    assert parsed.report is not None
    assert [comes_to(one) for one in parsed.report.recipients] == [UNKNOWN]


def test_a_list_that_refuses_who_is_no_member_reports_it(tmp_path: Path) -> None:
    text = f"You are not a member of this mailing list <{A}>.\n"
    head = "From: list-admin@x.example\nSubject: You are not member\nX-ML-Name: l\nPrecedence: list\n\n"
    parsed = read(head + text, "", tmp_path)
    assert parsed.report is not None
    assert [comes_to(one) for one in parsed.report.recipients] == [
        (A, _C.PERMANENT, _R.SENDER_REFUSED, None, None)
    ]
    assert read(head + text, "list-admin@x.example", tmp_path).automation is AutomationKind.LIST


# Mail that speaks of a report, and is none.
NO_REPORTS = {
    "B14 a person quotes one": ("alice@customer.example", "Re: Hi", f"> Subject: failure notice\n>\n> <{A}>:\n> 550 5.1.1 unknown user\n\nWhat is this?\n"),
    "B14 a person sends one on": ("alice@customer.example", "Fwd: Undelivered Mail", f"Begin forwarded message:\n\n<{A}>: 550 5.1.1 unknown user\n"),
    "B13 an absence notice": ("", "I am away", f"I am out of office. Mail can not be delivered to {B} either.\n"),
    "B13 an absence notice by its text alone": ("", "Re: Hi", f"I'm out of office. Mail can not be delivered to {B} either.\n"),
    "B13 an absence notice by its subject alone": ("", "I'm away", f"Mail can not be delivered to {B} either.\n"),
    "B13 an absence notice that names a colleague": ("", "Re: Hi", f"Please write to: {A}\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_REPORTS)
def test_what_speaks_of_a_report_is_none(case: str, tmp_path: Path) -> None:
    sender, subject, text = NO_REPORTS[case]
    parsed = read(
        f"From: {sender or 'bob@customer.example'}\nSubject: {subject}\n\n{text}", sender, tmp_path
    )
    assert parsed.automation is not AutomationKind.REPORT
    assert parsed.report is None
