"""The life of a delivery (CONTRACT §2): its states, and the one table of what may become what.

The table is total: every pair that is not in it is impossible, and the store refuses to write it.
The picture in docs/internals.md is drawn from it.
"""

from enum import StrEnum
from typing import Final


class DeliveryState(StrEnum):
    """Where one delivery stands."""

    PENDING = "pending"
    HELD = "held"
    SENDING = "sending"
    RETRY_SCHEDULED = "retry_scheduled"
    SENT = "sent"
    UNCERTAIN = "uncertain"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class Feedback(StrEnum):
    """What was heard of a delivery after it was sent, the weakest first: a stronger fact is never taken back."""

    NONE = "none"
    DELAYED = "delayed"
    DELIVERED = "delivered"
    BOUNCED = "bounced"
    REPLIED = "replied"
    COMPLAINED = "complained"


class HoldReason(StrEnum):
    """Why a delivery is held."""

    OPERATOR = "operator"
    MAILBOX_REMOVED = "mailbox_removed"
    RESTORED = "restored"
    UNREADABLE = "unreadable"
    LOOP = "loop"


SUSPECT_CRASHES: Final = 2  # found under way before its mark so often in a row: tried alone
POISON_CRASHES: Final = 3  # and so often: given up, since it may be what crashes the daemon

_S = DeliveryState

WAITING: Final = frozenset({_S.PENDING, _S.RETRY_SCHEDULED})
UNSETTLED: Final = frozenset({_S.PENDING, _S.HELD, _S.SENDING, _S.RETRY_SCHEDULED})

_FROM_WAITING: Final = frozenset(
    {_S.SENDING, _S.HELD, _S.CANCELLED, _S.SKIPPED, _S.FAILED, _S.SENT, _S.UNCERTAIN}
)

TRANSITIONS: Final[dict[DeliveryState, frozenset[DeliveryState]]] = {
    _S.PENDING: _FROM_WAITING,
    _S.HELD: (_FROM_WAITING - {_S.SENDING, _S.HELD}) | {_S.PENDING},
    _S.SENDING: frozenset(set(_S) - {_S.SENDING}),
    _S.RETRY_SCHEDULED: _FROM_WAITING,
    _S.SENT: frozenset(),
    _S.UNCERTAIN: frozenset({_S.SENT, _S.PENDING, _S.FAILED}),
    _S.FAILED: frozenset({_S.PENDING, _S.SENT}),
    _S.CANCELLED: frozenset(),
    _S.SKIPPED: frozenset(),
}


def may_become(before: DeliveryState, after: DeliveryState) -> bool:
    """Whether the table has this step."""
    return after in TRANSITIONS[before]


def end_unsent(wanted: DeliveryState, doubts: int) -> DeliveryState:
    """The state in which a delivery that we give up ends: `uncertain` when a mark in its past was never answered."""
    return DeliveryState.UNCERTAIN if doubts else wanted
