"""The decision log: what a line says of a delivery, a gate, a storm or a job."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.admit import GATES, Blocked, Wait
from postroom.core.breaker import CLOSED, Breaker, BreakerState
from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant
from postroom.core.reason import ReasonCode
from postroom.core.slowing import Slowing
from postroom.core.speed import SpeedMoved
from postroom.ops.logwords import Scope
from postroom.ports.accepting import Accepted, AcceptedDelivery, Replayed
from postroom.ports.changes import DeliveryQuarantined, DoubtJudged, RecipientSuppressed
from postroom.ports.looping import DomainPause, MarkStopped
from support.decision_log import Log
from support.ops_deliveries import NEW_JOB, NOW, SENT, STARTED, refused, unanswered


S = DeliveryState
R = ReasonCode
# One end for each reason: what the loop says, and what the log makes of it. Where a reason only ever stands on a
# breaker, a pause or a recovery, it still has to read well on a delivery.
_REFUSALS = {
    R.RECIPIENT_UNKNOWN: (550, "5.1.1 <old.manager@example.com>: User unknown", S.FAILED),
    R.RECIPIENT_BAD_ADDRESS: (553, "5.1.3 Bad address syntax", S.FAILED),
    R.RECIPIENT_DISABLED: (550, "5.2.1 Mailbox disabled", S.FAILED),
    R.RECIPIENT_MOVED: (551, "5.1.6 Try new.manager@example.org", S.FAILED),
    R.RECIPIENT_MAILBOX_FULL: (452, "4.2.2 Over quota", S.RETRY_SCHEDULED),
    R.RECIPIENT_REFUSED: (550, "5.7.1 No", S.FAILED),
    R.RECIPIENT_DEFERRED: (451, "4.3.0 Later", S.RETRY_SCHEDULED),
    R.DOMAIN_UNKNOWN: (550, "5.1.2 Host not found", S.FAILED),
    R.DOMAIN_NO_MAIL: (556, "5.1.10 Null MX", S.FAILED),
    R.DOMAIN_DEFERRED: (451, "4.7.500 Server busy", S.RETRY_SCHEDULED),
    R.DOMAIN_QUOTA: (552, "5.2.2 Tenant over quota", S.RETRY_SCHEDULED),
    R.GREYLISTED: (451, "4.7.1 Greylisted", S.RETRY_SCHEDULED),
    R.MESSAGE_TOO_BIG: (552, "5.3.4 Too big", S.FAILED),
    R.MESSAGE_REFUSED: (554, "5.6.0 Refused", S.FAILED),
    R.MESSAGE_SPAM: (554, "5.7.1 Looks like spam", S.FAILED),
    R.MESSAGE_MALFORMED: (550, "5.6.0 Bare line feed", S.FAILED),
    R.MAIL_REFUSED: (550, "5.0.0 No", S.RETRY_SCHEDULED),
    R.SENDER_REFUSED: (553, "5.7.1 Sender not owned", S.RETRY_SCHEDULED),
    R.SENDER_UNAUTHENTICATED: (550, "5.7.26 Unauthenticated", S.RETRY_SCHEDULED),
    R.QUOTA_DAILY: (550, "5.4.5 Daily quota exceeded", S.RETRY_SCHEDULED),
    R.RATE_LIMITED: (421, "4.7.0 Too fast", S.RETRY_SCHEDULED),
    R.AUTH_FAILED: (535, "5.7.8 Bad credentials", S.RETRY_SCHEDULED),
    R.RELAYING_DENIED: (554, "5.7.1 Relay access denied", S.RETRY_SCHEDULED),
    R.IP_BLOCKED: (554, "5.7.1 Blocked by list.example", S.RETRY_SCHEDULED),
    R.RELAY_BUSY: (421, "4.3.2 Too many connections", S.RETRY_SCHEDULED),
    R.RELAY_REFUSED: (554, "5.3.2 No service", S.RETRY_SCHEDULED),
    R.RELAY_STORAGE_FULL: (452, "4.3.1 Disk full", S.RETRY_SCHEDULED),
    R.RELAY_DEFERRED: (451, "4.3.0 Local problem", S.RETRY_SCHEDULED),
}
_SILENT = {
    R.EXPIRED: S.FAILED,
    R.POISON: S.FAILED,
    R.CANCELLED: S.CANCELLED,
    R.ATTACHMENT_MISSING: S.FAILED,
    R.ATTACHMENT_CHANGED: S.FAILED,
    R.RECIPIENT_SUPPRESSED: S.FAILED,
    R.PRECONDITION_FALSE: S.SKIPPED,
    R.SMTPUTF8_UNSUPPORTED: S.FAILED,
    R.MAILBOX_REMOVED: S.HELD,
    R.LOOP: S.HELD,
    R.CONNECTION_LOST: S.RETRY_SCHEDULED,
    R.PROTOCOL_ERROR: S.RETRY_SCHEDULED,
    R.TLS_FAILED: S.RETRY_SCHEDULED,
    R.CRASH_AFTER_MARK: S.UNCERTAIN,
    R.DOUBT_NO_ANSWER: S.UNCERTAIN,
    R.DOUBT_BAD_ANSWER: S.UNCERTAIN,
    R.MARK_WITHDRAWN: S.RETRY_SCHEDULED,
}
_PUT_OFF = {
    R.INBOUND_PENDING: S.PENDING,
    R.RESCHEDULED: S.PENDING,
    R.DRAIN: S.PENDING,
    R.CRASH_BEFORE_MARK: S.PENDING,
    R.STORE_UNAVAILABLE: S.PENDING,
    R.MAILBOX_PAUSED: S.PENDING,
    R.RELAY_UNREACHABLE: S.RETRY_SCHEDULED,
    R.PERMANENT_STORM: S.RETRY_SCHEDULED,
    R.DOUBT_STORM: S.RETRY_SCHEDULED,
    R.RESCHEDULED: S.PENDING,
}
_JUDGED = {
    R.EVIDENCE_REPLY_TOKEN: (S.SENT, "evidence"),
    R.EVIDENCE_RETURN_PATH: (S.SENT, "evidence"),
    R.EVIDENCE_MESSAGE_ID: (S.SENT, "evidence"),
    R.POLICY_RESEND: (S.PENDING, "policy"),
    R.POLICY_ASSUME_SENT: (S.SENT, "policy"),
}
GOLDEN = Path(__file__).with_name("reasons.jsonl")


def _line_of(reason: ReasonCode) -> str:
    log = Log()
    if reason in _JUDGED:
        after, by = _JUDGED[reason]
        log.decisions.doubt_judged(DoubtJudged(4711, 42, "support", after, by, reason))
        return log.stream.getvalue().rstrip("\n")
    if reason in _REFUSALS:
        code, text, state = _REFUSALS[reason]
        outcome = refused(code, text, state, reason)
    elif reason in _SILENT:
        state = _SILENT[reason]
        outcome = unanswered(state, reason)
    else:
        state = _PUT_OFF[reason]
        outcome = unanswered(state, reason, is_deferral=True)
    log.decisions.finished(STARTED, outcome, state)
    return log.stream.getvalue().rstrip("\n")


@pytest.mark.parametrize("reason", ReasonCode)
def test_every_reason_has_its_golden_line(reason: ReasonCode) -> None:
    golden = {json.loads(line)["reason_code"]: line for line in GOLDEN.read_text().splitlines()}
    assert _line_of(reason) == golden[reason]


def test_a_sent_delivery_says_what_the_relay_called_it() -> None:
    log = Log()
    log.decisions.finished(STARTED, SENT, DeliveryState.SENT)
    assert log.line() == {
        "at": "2026-11-30T07:00:00.000000Z",
        "level": "info",
        "event": "delivery.sent",
        "job_id": "job_000000000001a",
        "delivery_id": "dlv_00000000004j7",
        "trace_id": "trace-1",
        "mailbox_id": "support",
        "recipient_domain": "example.com",
        "recipient_hash": "857a06f9618f",
        "priority": "high",
        "attempt": 3,
        "decision": "done",
        "reason_code": None,
        "why": None,
        "stage": "dot",
        "reply_code": 250,
        "enhanced_status": "2.0.0",
        "reply_text": "2.0.0 Ok: queued as 9F3A",
        "next_attempt_at": None,
        "relay_message_id": "9F3A",
    }


def test_the_state_that_was_stored_decides_what_is_said() -> None:
    """A cancel that was answered too late turns a retry into a cancel."""
    log = Log()
    outcome = refused(451, "4.2.1 later", S.RETRY_SCHEDULED, R.RECIPIENT_DEFERRED)
    log.decisions.finished(STARTED, outcome, S.CANCELLED)
    assert (log.line()["event"], log.line()["decision"]) == ("delivery.cancelled", "drop")


def test_what_we_put_off_is_said_at_once_and_then_once_a_minute_for_each_mailbox_and_reason() -> (
    None
):
    log = Log()
    outage = unanswered(S.RETRY_SCHEDULED, R.RELAY_UNREACHABLE, is_deferral=True)
    for _ in range(1000):
        log.decisions.finished(STARTED, outage, S.RETRY_SCHEDULED)
    log.decisions.finished(replace(STARTED, mailbox_id="b"), outage, S.RETRY_SCHEDULED)
    log.clock.pass_(59.9)
    log.decisions.finished(STARTED, outage, S.RETRY_SCHEDULED)
    log.clock.pass_(0.1)
    log.decisions.finished(STARTED, outage, S.RETRY_SCHEDULED)
    seen = [(line["mailbox_id"], line["unlogged"]) for line in log.lines()]
    assert seen == [("support", 0), ("b", 0), ("support", 1000)]


def test_a_gate_that_holds_mail_back_is_said_with_when_it_opens() -> None:
    log = Log()
    gate = next(gate for gate in GATES if gate.name == "daily_cap")
    wait = Wait(gate, Blocked(500, 500, Instant(NOW + 3600 * SECOND)))
    for _ in range(3):
        log.decisions.waited("support", wait)
    line = log.line()
    assert (line["event"], line["gate"], line["until_at"]) == (
        "queue.waited",
        "daily_cap",
        "2026-11-30T08:00:00.000000Z",
    )


@pytest.mark.parametrize(
    ("stopped", "event"),
    [
        (MarkStopped(S.CANCELLED, R.CANCELLED), "delivery.cancelled"),
        (MarkStopped(S.FAILED, R.EXPIRED), "delivery.failed"),
        (MarkStopped(S.PENDING, R.MAILBOX_PAUSED), "delivery.postponed"),
        (MarkStopped(S.SKIPPED, R.PRECONDITION_FALSE), "delivery.skipped"),
    ],
    ids=str,
)
def test_what_the_mark_stopped_counts_no_attempt(stopped: MarkStopped, event: str) -> None:
    log = Log()
    log.decisions.stopped(STARTED, stopped)
    line = log.line()
    assert (line["event"], line["attempt"], line["reason_code"]) == (event, 2, stopped.reason_code)


def test_a_storm_is_an_error_and_an_outage_a_warning() -> None:
    log = Log()
    opened = Breaker(BreakerState.OPEN, R.RELAY_UNREACHABLE, faults_in_row=5, probe_at=NOW)
    storm = replace(opened, reason=R.PERMANENT_STORM)
    log.decisions.breaker_moved(Scope.RELAY, "main", CLOSED, opened)
    log.decisions.breaker_moved(Scope.MAILBOX, "support", CLOSED, storm)
    log.decisions.breaker_moved(Scope.RELAY, "main", opened, replace(opened, probe_s=60))
    log.decisions.breaker_moved(
        Scope.RELAY, "main", opened, replace(opened, state=BreakerState.HALF_OPEN)
    )
    log.decisions.breaker_moved(Scope.RELAY, "main", opened, CLOSED)
    log.decisions.breaker_moved(Scope.RELAY, "main", CLOSED, CLOSED)
    assert [
        (line["level"], line["event"], line["id"], line["reason_code"]) for line in log.lines()
    ] == [
        ("warning", "breaker.opened", "main", "relay.unreachable"),
        ("error", "breaker.stormed", "support", "permanent_storm"),
        ("info", "breaker.closed", "main", "relay.unreachable"),
    ]


def test_a_paused_domain_and_expired_deliveries_are_said() -> None:
    log = Log()
    log.decisions.domain_paused(DomainPause("support", "example.com", NOW, R.DOMAIN_DEFERRED))
    log.decisions.expired(3)
    assert [(line["event"], line["reason_code"]) for line in log.lines()] == [
        ("domain.paused", "domain.deferred"),
        ("deliveries.expired", "expired"),
    ]


def test_a_damaged_delivery_is_an_error_that_names_it() -> None:
    log = Log()
    log.decisions.quarantined(DeliveryQuarantined(2, 1, "support"))
    line = log.line()
    assert (line["event"], line["level"]) == ("delivery.quarantined", "error")
    assert (line["delivery_id"], line["job_id"]) == ("dlv_0000000000002", "job_0000000000001")


def test_a_slow_down_is_a_warning_once_a_minute_and_its_end_is_said() -> None:
    log = Log()
    half = Slowing(R.RATE_LIMITED, 25, 4, 0.5, NOW, NOW)
    less, more = replace(half, share=0.25), replace(half, share=0.55)
    for domain in (None, "example.com"):
        for before, after in ((None, half), (half, less), (less, more), (more, None)):
            log.decisions.speed_moved(SpeedMoved("main", domain, before, after))
    log.decisions.speed_moved(SpeedMoved("main", "example.org", None, less))
    assert [(line["level"], line["event"], line["domain"]) for line in log.lines()] == [
        ("warning", "relay.slowed", None),
        ("info", "relay.freed", None),
        ("warning", "domain.slowed", "example.com"),
        ("info", "domain.freed", "example.com"),
        ("warning", "domain.slowed", "example.org"),
    ]
    first = log.lines()[0]
    told = ("reason_code", "per_minute", "at_once", "was_per_minute", "was_at_once", "unlogged")
    assert [first[name] for name in told] == ["rate.limited", 12.5, 2, 25, 4, 0]


def test_an_address_that_a_report_ended_is_said_without_the_address() -> None:
    log = Log()
    log.decisions.recipient_suppressed(
        RecipientSuppressed("support", 1, 2, "alice@x.example", "recipient.unknown", "report:evt_1")
    )
    (line,) = log.lines()
    assert (line["event"], line["level"]) == ("recipient.suppressed", "warning")
    assert (line["recipient_domain"], line["reason"]) == ("x.example", "recipient.unknown")
    assert line["by"] == "report:evt_1"
    assert "alice" not in log.stream.getvalue()


def test_an_accepted_job_says_how_many_were_queued() -> None:
    log = Log()
    deliveries = (
        AcceptedDelivery(1, S.PENDING, None, 1),
        AcceptedDelivery(2, S.FAILED, R.RECIPIENT_SUPPRESSED, 2),
    )
    log.decisions.accepted(NEW_JOB, Accepted(41, deliveries, already=3))
    line = log.line()
    assert (line["job_id"], line["uid"], line["priority"]) == ("job_0000000000019", 1000, "bulk")
    assert (line["queued"], line["suppressed"], line["already"]) == (1, 1, 3)
    assert "secret" not in log.stream.getvalue()


def test_a_replayed_job_says_which_job_it_was() -> None:
    log = Log()
    log.decisions.replayed(NEW_JOB, Replayed(41, is_expired=False))
    assert (log.line()["event"], log.line()["job_id"]) == ("job.replayed", "job_0000000000019")
