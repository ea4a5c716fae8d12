"""What a received message proves about deliveries in doubt, in the transaction that publishes it (CONTRACT §6.4).

| evidence | whose |
|---|---|
| a valid reply token or return-path token | that delivery's, whoever wrote and whatever the mail is |
| a Message-ID in In-Reply-To or References | the delivery's with that id that went to the one address in From |
| the Message-ID of the original in a report | the delivery's with that id whose recipient the report names |

What it does to them is `core.doubt`'s part. A mail that is an event already says it again: its copy may have come by
another address.

Message-IDs count only in mail that the mailbox's `require` lets through without a token: what it refuses is nobody's.

Known limits: with `require = "any"` From need not be verified; who knows a Message-ID and its recipient may settle a
doubt, and no more than that. In a conversation others have the Message-ID, too, and an answer to one of them carries
it on.
"""

import sqlite3
from typing import Final, TypeVar

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.doubt import Bearing, bearing
from postroom.core.inmail import InMail
from postroom.core.instant import Instant
from postroom.core.matching import find_ids, normalise_id, sort_tokens
from postroom.core.reason import ReasonCode
from postroom.core.token import TokenKind, TokenStatus
from postroom.ports.arriving import Publication
from postroom.ports.changes import Change, DoubtJudged
from postroom.store.sqlite.doubt_steps import call_sent
from postroom.store.sqlite.inbox_own import find_own, find_sent_as
from postroom.store.sqlite.spoiled import state_of
from postroom.store.sqlite.transition import Step, record
from postroom.store.sqlite.unit import UnitResult


T = TypeVar("T")

BY: Final = "evidence"

_STANDING: Final = (
    "SELECT job, mailbox_id, state, doubts, marked_at, hold_reason FROM delivery WHERE number = ?"
)
_KEEP: Final = "UPDATE delivery SET evidence = coalesce(evidence, ?) WHERE number = ?"


def with_evidence(
    conn: sqlite3.Connection, publication: Publication, result: UnitResult[T]
) -> UnitResult[T]:
    """The result of publishing, after what the message proves is settled, or kept for the end of the attempt."""
    changes: list[Change] = [*result.changes]
    for number, reason in _find_evidence(conn, publication).items():
        changes += _bear(conn, number, reason, publication.at)
    return UnitResult(result.value, tuple(changes))


def settled_by_evidence(
    number: int, row: sqlite3.Row, after: DeliveryState, reason: ReasonCode
) -> DoubtJudged:
    """What is told of a delivery of which evidence says that it went out; `row` has its job and mailbox."""
    return DoubtJudged(number, row["job"], row["mailbox_id"], after, BY, reason)


def _bear(
    conn: sqlite3.Connection, number: int, reason: ReasonCode, at: Instant
) -> tuple[Change, ...]:
    row = conn.execute(_STANDING, (number,)).fetchone()
    if row is None:
        return ()
    before = state_of(row["state"])
    held = row["hold_reason"] and HoldReason(row["hold_reason"])
    is_marked = row["marked_at"] is not None
    match bearing(before, row["doubts"], is_marked=is_marked, hold_reason=held):
        case Bearing.NONE:
            return ()
        case Bearing.KEPT:
            conn.execute(_KEEP, (reason, number))
            return ()
        case Bearing.SETTLES:
            moved = call_sent(conn, number, at, BY, reason)
            step = Step(before, DeliveryState.SENT, at, BY, reason)
            told = settled_by_evidence(number, row, DeliveryState.SENT, reason)
            return (*record(conn, moved, step), told)


def _find_evidence(conn: sqlite3.Connection, publication: Publication) -> dict[int, ReasonCode]:
    """The deliveries that the message speaks of, each with the best that says so."""
    found: dict[int, ReasonCode] = {}
    for token in sort_tokens(publication.tokens):
        is_reply = token.kind is TokenKind.REPLY
        own = find_own(conn, publication.mailbox_id, token.number)
        if own is not None and token.status is TokenStatus.VALID:
            reason = (
                ReasonCode.EVIDENCE_REPLY_TOKEN if is_reply else ReasonCode.EVIDENCE_RETURN_PATH
            )
            found.setdefault(own.number, reason)
    for message_id, address in _find_named(publication.mail) if _is_wanted(publication) else ():
        for own in find_sent_as(conn, publication.mailbox_id, message_id):
            if own.is_recipient(address):
                found.setdefault(own.number, ReasonCode.EVIDENCE_MESSAGE_ID)
    return found


def _is_wanted(publication: Publication) -> bool:
    """Whether the mailbox takes the mail for its sender's without a token."""
    return (
        publication.wanted.find_refusal(
            publication.authentication,
            publication.mail.automation,
            has_token=False,
            is_known=True,
        )
        is None
    )


def _find_named(mail: InMail) -> list[tuple[str, str]]:
    """Message-IDs, each with the address of whom it would be evidence."""
    named: list[tuple[str, str]] = []
    if mail.author is not None:
        named += [(message_id, mail.author) for _, message_id in find_ids(mail)]
    report = mail.report
    original = normalise_id(report.original_message_id or "") if report is not None else ""
    if report is not None and original:
        named += [(original, one.recipient) for one in report.recipients if one.recipient]
    return named
