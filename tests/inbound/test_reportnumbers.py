"""What the status, the code and the words of a report's answer come to together."""

from pathlib import Path

import pytest

from support.mails import read


A = "a@x.example"


def test_the_name_that_a_sending_server_gives_a_bounce_is_part_of_the_diagnostic(
    tmp_path: Path,
) -> None:
    status = f"Reporting-MTA: dns; mx.example\n\nFinal-Recipient: rfc822;{A}\nAction: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp;550 unknown user\nX-PowerMTA-BounceCategory: bad-mailbox\n"
    parsed = read(
        f"From: MAILER-DAEMON@mx.example\nSubject: x\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\nContent-Type: message/delivery-status\n\n{status}\n--b--\n",
        "",
        tmp_path,
    )
    assert parsed.report is not None
    assert parsed.report.reporting_mta == "mx.example"
    assert [one.diagnostic for one in parsed.report.recipients] == [
        "smtp;550 unknown user bad-mailbox"
    ]
    assert parsed.report.recipients[0].sense.is_hard


# What a status, a code and the words of an answer come to together.
NUMBERS = {
    "a general status gives way": ("5.0.0", "smtp; 550 5.1.1 unknown user", "5.1.1", 550),
    "an expiry gives way": ("4.4.7", "smtp; 554 4.4.7 Message expired <421 4.4.2 timed out>", "4.4.2", 421),
    "a refusal called temporary": ("4.5.1", "smtp; 550 5.5.1 no", "5.5.1", 550),
    "codes of another class are none": ("4.0.0", "smtp; 554 Blocked", "4.0.0", None),
    "inventions are none": ("5.1.2", "smtp; 599 no", "5.1.2", None),
    "an address is no code": ("5.1.2", "smtp; host 192.0.2.550 said no", "5.1.2", None),
}  # fmt: skip


@pytest.mark.parametrize("case", NUMBERS)
def test_the_status_and_the_code_that_say_most_are_told(case: str, tmp_path: Path) -> None:
    status, diagnostic, *wanted = NUMBERS[case]
    block = f"Final-Recipient: rfc822;{A}\nAction: failed\nStatus: {status}\nDiagnostic-Code: {diagnostic}\n"
    parsed = read(
        f"From: MAILER-DAEMON@mx.example\nSubject: x\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\nContent-Type: message/delivery-status\n\n{block}\n--b--\n",
        "",
        tmp_path,
    )
    assert parsed.report is not None
    assert [[one.status, one.reply_code] for one in parsed.report.recipients] == [wanted]
