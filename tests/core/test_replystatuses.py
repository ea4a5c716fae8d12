"""What an enhanced status, or a code where there is none, says by itself (RFC 3463, RFC 5321, Microsoft's own)."""

import pytest

from postroom.core.outcome import classify
from postroom.core.reason import ReasonCode
from postroom.core.reply import SmtpReply, Stage
from postroom.core.replytable import CODES, OTHER_STATUS, STATUS_BY_CLASS


R = ReasonCode
STATUSES: dict[ReasonCode, str] = {
    R.RECIPIENT_UNKNOWN: "1.1",
    R.DOMAIN_UNKNOWN: "1.2 4.4",
    R.RECIPIENT_BAD_ADDRESS: "1.3",
    R.RECIPIENT_MOVED: "1.6",
    R.DOMAIN_NO_MAIL: "1.10",
    R.SENDER_REFUSED: "1.7 1.8 2.252 7.27 7.60",
    R.QUOTA_DAILY: "1.90 7.232 7.233 7.705",
    R.RECIPIENT_MAILBOX_FULL: "2.2",
    R.MESSAGE_TOO_BIG: "2.3 3.4",
    R.RECIPIENT_REFUSED: "2.4 7.2",
    R.RELAY_STORAGE_FULL: "3.1",
    R.MESSAGE_REFUSED: "4.6 6.0 6.1 6.2 6.3 6.5 6.6",
    R.SMTPUTF8_UNSUPPORTED: "6.7 6.9",
    R.AUTH_FAILED: "7.8 7.9 7.11 7.12 7.57",
    R.RELAYING_DENIED: "7.14 7.64",
    R.SENDER_UNAUTHENTICATED: "7.20 7.21 7.22 7.23 7.24 7.26 7.509 7.515",
    R.IP_BLOCKED: "7.25 7.511 7.708 7.606 7.649",
}
BY_CODE = {
    "mail 452": R.RELAY_STORAGE_FULL,
    "mail 530": R.AUTH_FAILED,
    "mail 552": R.MESSAGE_TOO_BIG,
    "rcpt 501": R.RECIPIENT_BAD_ADDRESS,
    "rcpt 530": R.AUTH_FAILED,
    "rcpt 551": R.RECIPIENT_MOVED,
    "rcpt 552": R.RECIPIENT_MAILBOX_FULL,
    "rcpt 553": R.RECIPIENT_BAD_ADDRESS,
    "data 452": R.RELAY_STORAGE_FULL,
    "data 552": R.RECIPIENT_MAILBOX_FULL,
    "body 452": R.RELAY_STORAGE_FULL,
    "body 552": R.RECIPIENT_MAILBOX_FULL,
    "dot 452": R.RELAY_STORAGE_FULL,
    "dot 552": R.RECIPIENT_MAILBOX_FULL,
}
BY_CLASS = {
    "dot 450 4.3.2": R.RELAY_DEFERRED,
    "dot 450 4.3.5": R.RELAY_DEFERRED,
    "rcpt 450 4.4.5": R.RELAY_DEFERRED,
    "rcpt 550 5.2.1": R.RECIPIENT_DISABLED,
    "rcpt 550 5.4.5": R.QUOTA_DAILY,
}


def reason_of(where: str) -> ReasonCode:
    stage, code, *status = where.split()
    is_dot = stage == "dot"
    reply = SmtpReply(int(code), status[0] if status else None, "no", b"")
    verdict = classify(Stage(stage), reply, is_marked=is_dot, is_dotted=is_dot)
    assert verdict is not None
    return verdict.reason


@pytest.mark.parametrize(
    ("detail", "reason"),
    [(detail, reason) for reason, details in STATUSES.items() for detail in details.split()],
)
def test_a_status_says_more_than_its_code(detail: str, reason: ReasonCode) -> None:
    stage = "mail" if reason in {R.RECIPIENT_REFUSED, R.MESSAGE_REFUSED} else "dot"
    assert reason_of(f"{stage} 550 5.{detail}") is reason
    assert reason_of(f"{stage} 550 5.9.99") is not reason


@pytest.mark.parametrize(("where", "reason"), [*BY_CODE.items(), *BY_CLASS.items()])
def test_a_code_or_a_status_of_its_class_says_where_it_stands(
    where: str, reason: ReasonCode
) -> None:
    assert reason_of(where) is reason


def test_every_status_and_code_of_the_tables_is_here() -> None:
    banned = {f"7.{number}" for number in range(606, 650)}
    assert {one for said in STATUSES.values() for one in said.split()} | banned == set(OTHER_STATUS)
    assert {(Stage(stage), int(code)) for stage, code in map(str.split, BY_CODE)} == set(CODES)
    assert {where.split()[2] for where in BY_CLASS} == set(STATUS_BY_CLASS)
