"""The daily digest of a mailbox: what ended unsent since the last one, what is in doubt, and what to do. Pure.

Rules: where there is nothing to say there is no letter; a hundred deliveries are written out, of the rest counts; the
words of servers are strangers' text, cleaned and cut.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import MINUTE, Instant, micros
from postroom.core.letter import Letter, clean, told
from postroom.core.reason import EXPLANATIONS, ReasonCode
from postroom.core.words import shown


MOST: Final = 100
_DAY: Final = 24 * 60 * MINUTE
_WORDS: Final = 200  # characters of a server's reply
_UNREAD: Final = "What is stored of this one is damaged: look after the disk."
_DOUBT: Final = (
    "Ask the recipients or the relay's log, then `postroom resolve ID --as sent`, `resend` (it may arrive twice)"
    " or `failed`."
)


@dataclass(frozen=True, slots=True)
class Unsent:
    """A delivery that failed or is in doubt, and since when; `recipient` '' = its row can not be read."""

    number: int
    mailbox_id: str
    state: DeliveryState
    at: Instant
    recipient: str = ""
    reason: ReasonCode | None = None
    attempts: int = 0
    reply: str = ""


@dataclass(slots=True)
class Account:
    """What a digest has to say: what failed from `since` on, what is in doubt. The first hundred of each are kept whole."""

    since: Instant
    failed: list[Unsent] = field(default_factory=list)
    doubts: list[Unsent] = field(default_factory=list)
    reasons: Counter[ReasonCode] = field(default_factory=Counter)
    failed_count: int = 0
    doubt_count: int = 0

    def add(self, one: Unsent) -> None:
        """Count it in."""
        if one.state is DeliveryState.UNCERTAIN:
            self.doubt_count += 1
            self.doubts += [one] if len(self.doubts) < MOST else []
        elif one.at >= self.since:
            self.failed_count += 1
            self.reasons.update([] if one.reason is None else [one.reason])
            self.failed += [one] if len(self.failed) < MOST else []


def due_before(now: Instant, at: timedelta) -> Instant:
    """The latest time of a digest that has come; `at` counts from midnight UTC."""
    shift = micros(at)
    return Instant((now - shift) // _DAY * _DAY + shift)


def digest_letter(mailbox_id: str, account: Account, until: Instant, host: str) -> Letter | None:
    """The digest of this mailbox; None = there is nothing to say."""
    if not account.failed_count and not account.doubt_count:
        return None
    parts = [*_failed(account, until), *_doubts(account)]
    parts.append(f"-- \nPostroom on {shown(host)}, mailbox {mailbox_id}.\n")
    counts = [
        f"{count} {word}"
        for count, word in ((account.failed_count, "failed"), (account.doubt_count, "in doubt"))
        if count
    ]
    return Letter(f"Digest of {mailbox_id}: {', '.join(counts)}", "\n".join(parts))


def _failed(account: Account, until: Instant) -> Iterable[str]:
    if not account.failed_count:
        return
    yield f"Ended unsent from {told(account.since)} to {told(until)}: {account.failed_count}.\n"
    yield from _written(account.failed)
    yield from _rest(account.failed_count)
    yield "By reason, and what to do:\n"
    for reason, count in account.reasons.most_common():
        yield f"  {count} {reason}: {EXPLANATIONS[reason].to_do}"
    yield "\nWhat is mended can be sent after all: `postroom retry ID`.\n"


def _doubts(account: Account) -> Iterable[str]:
    if not account.doubt_count:
        return
    yield f"In doubt, the relay may have them: {account.doubt_count}. {_DOUBT}\n"
    yield from _written(account.doubts)
    yield from _rest(account.doubt_count)


def _written(some: Sequence[Unsent]) -> Iterable[str]:
    for one in some:
        when = f"{told(one.at)}, {encode_id(Kind.DELIVERY, one.number)}"
        if not one.recipient:
            yield f"  {_UNREAD}\n    {when}\n"
            continue
        tries = "1 try" if one.attempts == 1 else f"{one.attempts} tries"
        means = "" if one.reason is None else f"{one.reason}: {EXPLANATIONS[one.reason].means} "
        reply = f"    Reply: {clean(one.reply, _WORDS)}\n" if one.reply else ""
        yield (f"  {clean(one.recipient, _WORDS)}\n    {means}{tries}, {when}\n{reply}")


def _rest(count: int) -> Iterable[str]:
    if count > MOST:
        yield f"  And {count - MOST} more: `postroom dead-letters` lists them.\n"
