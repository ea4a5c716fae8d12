"""The decision log: what was decided about jobs and deliveries, why, whether it is tried again and when.

Each method is called after the commit that made it true and says so in one line. Rules (HAZARDS L1): never a body, a
subject, a secret or a whole recipient; what we put off ourselves is logged at once, then once a minute for each
mailbox and reason.
"""

from typing import Final

from postroom.core.admit import Wait
from postroom.core.breaker import Breaker
from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import Instant, format_instant
from postroom.core.reason import EXPLANATIONS, ReasonCode
from postroom.core.slowing import Slowing
from postroom.core.speed import SpeedMoved
from postroom.ops.logbook import Logbook
from postroom.ops.logline import Value, recipient_hash, without_addresses
from postroom.ops.logwords import Decision, LogEvent, Scope
from postroom.ops.throttle import Throttle
from postroom.ports.accepting import Accepted, NewJob, Replayed
from postroom.ports.changes import DeliveryQuarantined, DoubtJudged, RecipientSuppressed
from postroom.ports.looping import DomainPause, MarkStopped, Outcome, Started, WaitingRow


_STORMS: Final = frozenset({ReasonCode.PERMANENT_STORM, ReasonCode.DOUBT_STORM})
_S = DeliveryState
_ENDS: Final[dict[DeliveryState, tuple[LogEvent, Decision]]] = {
    _S.PENDING: (LogEvent.DELIVERY_POSTPONED, Decision.WAIT),
    _S.HELD: (LogEvent.DELIVERY_HELD, Decision.HOLD),
    _S.SENDING: (LogEvent.DELIVERY_STARTED, Decision.START),
    _S.RETRY_SCHEDULED: (LogEvent.DELIVERY_DEFERRED, Decision.RETRY),
    _S.SENT: (LogEvent.DELIVERY_SENT, Decision.DONE),
    _S.UNCERTAIN: (LogEvent.DELIVERY_UNCERTAIN, Decision.HOLD),
    _S.FAILED: (LogEvent.DELIVERY_FAILED, Decision.GIVE_UP),
    _S.CANCELLED: (LogEvent.DELIVERY_CANCELLED, Decision.DROP),
    _S.SKIPPED: (LogEvent.DELIVERY_SKIPPED, Decision.DROP),
}


class Decisions:
    """Says what was decided."""

    def __init__(self, book: Logbook, throttle: Throttle) -> None:
        self._book = book
        self._throttle = throttle

    def accepted(self, new: NewJob, result: Accepted) -> None:
        """A job is ours, or a merge added recipients to one."""
        states = [delivery.state for delivery in result.deliveries]
        self._book.write(
            LogEvent.JOB_ACCEPTED,
            self._job(new, result.number)
            | {
                "priority": new.job.lane.word,
                "queued": states.count(DeliveryState.PENDING),
                "already": result.already,
                "suppressed": states.count(DeliveryState.FAILED),
            },
        )

    def replayed(self, new: NewJob, result: Replayed) -> None:
        """The same job came again under its key; nothing was queued."""
        fields = self._job(new, result.number) | {"is_expired": result.is_expired}
        self._book.write(LogEvent.JOB_REPLAYED, fields)

    def started(self, started: Started) -> None:
        """An attempt begins."""
        if self._book.shows(LogEvent.DELIVERY_STARTED):
            fields = self._about(started, started.attempts + 1) | {"decision": Decision.START}
            self._book.write(LogEvent.DELIVERY_STARTED, fields)

    def finished(self, started: Started, outcome: Outcome, state: DeliveryState) -> None:
        """An attempt ended, and the delivery came to `state`."""
        event, decision = _ENDS[state]
        if outcome.is_deferral and state is DeliveryState.RETRY_SCHEDULED:
            event, decision = _ENDS[DeliveryState.PENDING]
        reply = outcome.reply
        fields = self._about(started, started.attempts + outcome.counts_attempt) | {
            "decision": decision,
            "reason_code": outcome.reason_code,
            "why": _why(outcome.reason_code),
            "stage": outcome.stage,
            "reply_code": reply.code if reply else None,
            "enhanced_status": reply.enhanced if reply else None,
            "reply_text": without_addresses(reply.text, started.recipient) if reply else None,
            "next_attempt_at": _written(outcome.due_at),
        }
        match event:
            case LogEvent.DELIVERY_POSTPONED:
                self._postponed(started.mailbox_id, outcome.reason_code, fields)
            case LogEvent.DELIVERY_SENT:
                fields["relay_message_id"] = outcome.relay_message_id
                self._book.write(event, fields)
            case _:
                self._book.write(event, fields)

    def stopped(self, started: Started, stopped: MarkStopped) -> None:
        """The mark said no: nothing went out, no attempt was counted."""
        event, decision = _ENDS[stopped.state]
        fields = self._about(started, started.attempts) | {
            "decision": decision,
            "reason_code": stopped.reason_code,
            "why": _why(stopped.reason_code),
        }
        if event is LogEvent.DELIVERY_POSTPONED:
            self._postponed(started.mailbox_id, stopped.reason_code, fields)
        else:
            self._book.write(event, fields)

    def doubt_judged(self, judged: DoubtJudged) -> None:
        """Evidence or a policy settled a doubt, or a policy left it to a person."""
        is_left = judged.after is DeliveryState.UNCERTAIN
        fields: dict[str, Value] = {
            "job_id": encode_id(Kind.JOB, judged.job),
            "delivery_id": encode_id(Kind.DELIVERY, judged.number),
            "mailbox_id": judged.mailbox_id,
            "state": judged.after,
            "by": judged.by,
            "reason_code": judged.reason_code,
            "why": _why(judged.reason_code),
        }
        self._book.write(LogEvent.DOUBT_LEFT if is_left else LogEvent.DOUBT_SETTLED, fields)

    def inbound_waits(self, row: WaitingRow, since: Instant) -> None:
        """Mail that came in for its thread is not read yet, and keeps this delivery."""
        unlogged = self._throttle.pass_one((LogEvent.INBOUND_WAITED, row.number))
        if unlogged is not None:
            fields: dict[str, Value] = {
                "delivery_id": encode_id(Kind.DELIVERY, row.number),
                "mailbox_id": row.mailbox_id,
                "since_at": _written(since),
                "unlogged": unlogged,
            }
            self._book.write(LogEvent.INBOUND_WAITED, fields)

    def waited(self, mailbox_id: str, wait: Wait) -> None:
        """A gate holds back what this mailbox could send next."""
        unlogged = self._throttle.pass_one((LogEvent.QUEUE_WAITED, mailbox_id, wait.gate.name))
        if unlogged is not None:
            fields: dict[str, Value] = {
                "mailbox_id": mailbox_id,
                "gate": wait.gate.name,
                "until_at": _written(wait.blocked.until),
                "unlogged": unlogged,
            }
            self._book.write(LogEvent.QUEUE_WAITED, fields)

    def expired(self, count: int) -> None:
        """Deliveries were given up because their time was over before they were tried again."""
        fields: dict[str, Value] = {"reason_code": ReasonCode.EXPIRED, "count": count}
        self._book.write(LogEvent.DELIVERIES_EXPIRED, fields)

    def breaker_moved(self, scope: Scope, id_: str, before: Breaker, after: Breaker) -> None:
        """A breaker opened or closed; no line where it did neither."""
        if before.is_closed and not after.is_closed:
            self._breaker_opened(scope, id_, after)
        elif after.is_closed and not before.is_closed:
            fields: dict[str, Value] = {"scope": scope, "id": id_, "reason_code": before.reason}
            self._book.write(LogEvent.BREAKER_CLOSED, fields)

    def domain_paused(self, pause: DomainPause) -> None:
        """A recipient domain is left alone for a while."""
        fields: dict[str, Value] = {
            "mailbox_id": pause.mailbox_id,
            "domain": pause.domain,
            "reason_code": pause.reason_code,
            "until_at": _written(pause.until_at),
        }
        self._book.write(LogEvent.DOMAIN_PAUSED, fields)

    def speed_moved(self, moved: SpeedMoved) -> None:
        """A relay or domain slowed down, or goes on as before; no line where it only sped up a little."""
        is_relay = moved.domain is None
        if moved.after is None and moved.before is not None:
            fields: dict[str, Value] = {
                "relay_id": moved.relay_id,
                "domain": moved.domain,
                "reason_code": moved.before.reason,
                "since_at": _written(moved.before.since_at),
            }
            self._book.write(LogEvent.RELAY_FREED if is_relay else LogEvent.DOMAIN_FREED, fields)
        elif moved.after is not None and moved.is_throttled:
            event = LogEvent.RELAY_SLOWED if is_relay else LogEvent.DOMAIN_SLOWED
            self._slowed(event, moved, moved.after)

    def _slowed(self, event: LogEvent, moved: SpeedMoved, after: Slowing) -> None:
        unlogged = self._throttle.pass_one((event, moved.relay_id, moved.domain))
        if unlogged is None:
            return
        fields: dict[str, Value] = {
            "relay_id": moved.relay_id,
            "domain": moved.domain,
            "reason_code": after.reason,
            "per_minute": round(after.rate, 1),
            "at_once": after.most,
            "was_per_minute": after.per_minute,
            "was_at_once": after.at_once,
            "unlogged": unlogged,
        }
        self._book.write(event, fields)

    def _breaker_opened(self, scope: Scope, id_: str, after: Breaker) -> None:
        is_storm = after.reason in _STORMS
        fields: dict[str, Value] = {
            "scope": scope,
            "id": id_,
            "reason_code": after.reason,
            "faults_in_row": after.faults_in_row,
            "probe_at": _written(after.probe_at),
        }
        self._book.write(LogEvent.BREAKER_STORMED if is_storm else LogEvent.BREAKER_OPENED, fields)

    def _postponed(
        self, mailbox_id: str, reason: ReasonCode | None, fields: dict[str, Value]
    ) -> None:
        unlogged = self._throttle.pass_one((LogEvent.DELIVERY_POSTPONED, mailbox_id, reason))
        if unlogged is not None:
            self._book.write(LogEvent.DELIVERY_POSTPONED, fields | {"unlogged": unlogged})

    def _job(self, new: NewJob, number: int) -> dict[str, Value]:
        return {
            "job_id": encode_id(Kind.JOB, number),
            "trace_id": new.trace_id,
            "mailbox_id": new.job.mailbox_id,
            "uid": new.principal_uid,
        }

    def recipient_suppressed(self, change: RecipientSuppressed) -> None:
        """A report ended an address: nobody writes to it from this mailbox until a person allows it again."""
        self._book.write(
            LogEvent.RECIPIENT_SUPPRESSED,
            {
                "job_id": encode_id(Kind.JOB, change.job),
                "delivery_id": encode_id(Kind.DELIVERY, change.delivery),
                "mailbox_id": change.mailbox_id,
                "recipient_domain": change.address.rpartition("@")[2],
                "recipient_hash": recipient_hash(change.address),
                "reason": change.reason,
                "by": change.by,
            },
        )

    def quarantined(self, change: DeliveryQuarantined) -> None:
        """What is stored of a delivery is damaged: it is held."""
        self._book.write(
            LogEvent.DELIVERY_QUARANTINED,
            {
                "job_id": encode_id(Kind.JOB, change.job),
                "delivery_id": encode_id(Kind.DELIVERY, change.number),
                "mailbox_id": change.mailbox_id,
            },
        )

    def _about(self, started: Started, attempt: int) -> dict[str, Value]:
        return {
            "job_id": encode_id(Kind.JOB, started.job_number),
            "delivery_id": encode_id(Kind.DELIVERY, started.number),
            "trace_id": started.trace_id,
            "mailbox_id": started.mailbox_id,
            "recipient_domain": started.domain,
            "recipient_hash": recipient_hash(started.recipient),
            "priority": started.lane.word,
            "attempt": attempt,
        }


def _why(reason: ReasonCode | None) -> str | None:
    return EXPLANATIONS[reason].means if reason else None


def _written(at: Instant | None) -> str | None:
    return None if at is None else format_instant(at)
