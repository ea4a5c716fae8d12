"""What a report says of our deliveries (RFC 3464, RFC 5965): which of them it speaks of, and what becomes of their feedback.

A report that came to a genuine return-path token speaks of that delivery, whatever it says of itself. One without is
believed where it names a Message-ID of ours *and*, as its recipient, that delivery's own. All others change nothing.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from postroom.core.delivery import Feedback
from postroom.core.eventtypes import ReportFact, read_report
from postroom.core.inmail import Report, ReportedRecipient
from postroom.core.matching import Confidence, MatchedBy, normalise_id, weaker_than
from postroom.store.sqlite.inbox_match import Target
from postroom.store.sqlite.inbox_own import Own, find_named


_FEEDBACK: Final = """
    UPDATE delivery SET feedback = ?, version = version + 1 WHERE number = ? AND feedback IN ({marks})"""
_FEEDBACKS: Final = {
    one: _FEEDBACK.format(marks=", ".join("?" * len(weaker_than(one)))) for one in Feedback
}


@dataclass(frozen=True, slots=True)
class Suppression:
    """An address that nobody shall write to any more, the delivery that it comes from, and the word why."""

    own: Own
    address: str
    reason: str


@dataclass(frozen=True, slots=True)
class Told:
    """What a report says of one delivery, or of nobody that is ours: the strongest fact, and the block that has it."""

    target: Target | None
    fact: ReportFact | None
    block: ReportedRecipient | None

    @property
    def is_verified(self) -> bool:
        """Whether it is known which delivery of ours it speaks of."""
        return self.target is not None

    @property
    def suppression(self) -> Suppression | None:
        """The address that it ends, and why; None = it ends nobody.

        A valid token says whose delivery it is, and the block names that recipient, or nobody: behind a forward
        another address may be gone. Of what retention took, only the block can name the address.
        """
        target, block = self.target, self.block
        if target is None or target.own is None or block is None or self.fact is None:
            return None
        own, word = target.own, block.sense.suppression
        is_proven = target.sign is MatchedBy.RETURN_PATH and target.confidence is Confidence.CERTAIN
        is_own = block.recipient is None or own.is_recipient(block.recipient)
        address = own.recipient or block.recipient
        if not (is_proven and is_own and address and word):
            return None
        return Suppression(own, address, word)


def read_told(
    conn: sqlite3.Connection, mailbox_id: str, report: Report, proven: Target | None
) -> tuple[Told, ...]:
    """What the report says of each delivery, first of the one that its return-path token names, `proven`.

    Where it speaks of none of ours for sure, one that has no target.
    """
    blocks: dict[int, list[ReportedRecipient]] = {}
    targets: dict[int, Target] = {}
    if proven is not None and proven.own is not None:
        own = proven.own
        targets[own.number] = proven
        blocks[own.number] = [
            one for one in report.recipients if one.recipient and own.is_recipient(one.recipient)
        ]
    for target, block in _find_named_recipients(conn, mailbox_id, report):
        if target.own is not None:
            targets.setdefault(target.own.number, target)
            blocks.setdefault(target.own.number, []).append(block)
    if not targets:
        return (_strongest(None, report.recipients),)
    others = _of_nobody_else(report, targets, proven)
    return tuple(
        _strongest(targets[number], tuple(found) or others) for number, found in blocks.items()
    )


def raise_feedback(conn: sqlite3.Connection, number: int, feedback: Feedback) -> None:
    """Note what was heard of a delivery, unless something stronger is known."""
    weaker = weaker_than(feedback)
    if weaker:
        conn.execute(_FEEDBACKS[feedback], (feedback, number, *weaker))


def _find_named_recipients(
    conn: sqlite3.Connection, mailbox_id: str, report: Report
) -> list[tuple[Target, ReportedRecipient]]:
    message_id = normalise_id(report.original_message_id or "")
    named = find_named(conn, mailbox_id, message_id) if message_id else None
    if named is None:
        return []
    return [
        (Target(own.thread, MatchedBy.REFERENCES, Confidence.STRONG, own), block)
        for block in report.recipients
        for own in named.own
        if block.recipient is not None and own.is_recipient(block.recipient)
    ]


def _of_nobody_else(
    report: Report, targets: dict[int, Target], proven: Target | None
) -> tuple[ReportedRecipient, ...]:
    """The blocks that may speak of the proven delivery: its recipient may be called otherwise behind a forward."""
    others = [one.own for one in targets.values() if one is not proven and one.own is not None]
    return tuple(
        block
        for block in report.recipients
        if not any(block.recipient and own.is_recipient(block.recipient) for own in others)
    )


def _strongest(target: Target | None, blocks: tuple[ReportedRecipient, ...]) -> Told:
    strongest = Told(target, None, blocks[0] if blocks else None)
    for block in blocks:
        fact = read_report(block)
        if fact is not None and (
            strongest.fact is None or strongest.fact.feedback in weaker_than(fact.feedback)
        ):
            strongest = Told(target, fact, block)
    return strongest
