"""Doubt: a final dot without a known answer, and what settles it (CONTRACT §2, §6). Pure.

Evidence is mail that nobody could have sent who was not reached by a copy. It speaks of a copy whose mark was never
answered: of the attempt under way, of a delivery in doubt, or of an earlier attempt of one that waits again or was
called failed. A mark that the relay answered is closed, whatever comes later. What was restored from a copy may have
gone out after the copy was made, so evidence speaks of that, too.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.instant import Instant, later
from postroom.core.mailbox import DoubtPolicy, OnUncertain
from postroom.core.reason import ReasonCode


class Bearing(Enum):
    """What evidence does to a delivery: nothing, it is kept until the attempt ends, or it settles it as sent."""

    NONE = "none"
    KEPT = "kept"
    SETTLES = "settles"


_S = DeliveryState
_WITH_PAST: Final = frozenset({_S.PENDING, _S.HELD, _S.RETRY_SCHEDULED, _S.SENDING, _S.FAILED})


def bearing(
    state: DeliveryState, doubts: int, *, is_marked: bool, hold_reason: HoldReason | None = None
) -> Bearing:
    """What evidence does to a delivery; `doubts` are the unanswered marks in its past, `is_marked` is that of now."""
    if state is _S.UNCERTAIN:
        return Bearing.SETTLES
    if state is _S.SENDING and is_marked:
        return Bearing.KEPT
    if state in _WITH_PAST and (doubts or hold_reason is HoldReason.RESTORED):
        return Bearing.SETTLES
    return Bearing.NONE


def no_resend(
    not_after: Instant | None, now: Instant, *, is_cancelled: bool, is_suppressed: bool
) -> ReasonCode | None:
    """Why nothing may be sent again by itself; None when it may."""
    if is_cancelled:
        return ReasonCode.CANCELLED
    if is_suppressed:
        return ReasonCode.RECIPIENT_SUPPRESSED
    if not_after is not None and not_after <= now:
        return ReasonCode.EXPIRED
    return None


@dataclass(frozen=True, slots=True)
class Outlook:
    """What becomes of a delivery in doubt by itself: `at` is when, None = nothing, and then `why` may say why."""

    kind: OnUncertain
    at: Instant | None
    why: str | None = None


def outlook(
    policy: DoubtPolicy, since: Instant, *, is_second: bool, ruled_out: ReasonCode | None
) -> Outlook:
    """What its mailbox's policy does about a doubt that began at `since`.

    `is_second`: an earlier mark of it was not answered either. `ruled_out`: why it was not sent again when it was due.
    """
    if policy.kind is OnUncertain.HOLD:
        return Outlook(policy.kind, None)
    if policy.kind is OnUncertain.RESEND:
        if is_second:
            return Outlook(policy.kind, None, "it may have been sent again before")
        if ruled_out is not None:
            return Outlook(policy.kind, None, ruled_out)
    return Outlook(policy.kind, later(since, policy.after))
