"""What explain says where something is in doubt: what became of a delivery, or the clock."""

from typing import Final

from postroom.core.clockdoubt import find_doubtful
from postroom.core.delivery import DeliveryState
from postroom.core.doubt import Outlook, no_resend, outlook
from postroom.core.instant import Instant, format_instant, later
from postroom.core.mailbox import DoubtPolicy, OnUncertain
from postroom.core.record import DeliveryRecord
from postroom.core.world import World
from postroom.ports.loop import Explanation, GateReport, GateVerdict


# Only a clock that is not believed says that a send time has come, or that a time is over.
CLOCK_GATE: Final = GateReport(
    "send_time", GateVerdict.BLOCKED, "clock in doubt", "postroom doctor --confirm-clock", None
)


def waits_for_clock(delivery: DeliveryRecord, now: Instant, believed_at: Instant | None) -> bool:
    """Whether this delivery waits until the clock is believed, or the believed time is there."""
    if delivery.due_at is None:
        return False
    is_planned = delivery.state is DeliveryState.PENDING and not delivery.attempts
    since = delivery.created_at if is_planned else None
    return find_doubtful(since, delivery.due_at, delivery.not_after, now, believed_at) is not None


def explain_doubt(delivery: DeliveryRecord, world: World | None) -> Explanation | None:
    """What the policy of its mailbox does with a delivery in doubt, and when; of a mailbox that is gone nobody knows."""
    if world is None or delivery.settled_at is None:
        return None
    policy = world.mailbox.mailbox.on_uncertain
    ruled_out = delivery.no_resend or no_resend(
        delivery.not_after,
        later(delivery.settled_at, policy.after),
        is_cancelled=delivery.is_cancel_asked,
        is_suppressed=False,  # until then it may not be any more
    )
    found = outlook(
        policy,
        delivery.settled_at,
        is_second=delivery.resends > 0 or delivery.doubts > 0,
        ruled_out=ruled_out,
    )
    since = f"in doubt since {format_instant(delivery.settled_at)}"
    gate = GateReport("doubt", GateVerdict.BLOCKED, since, _on_uncertain(policy, found), found.at)
    earliest = found.at if found.kind is OnUncertain.RESEND else None
    return Explanation(delivery.state, (gate,), earliest)


def _on_uncertain(policy: DoubtPolicy, found: Outlook) -> str:
    """The mailbox's setting in a few words, and why nothing comes of it."""
    if found.kind is OnUncertain.HOLD:
        return found.kind
    if found.at is None:
        return f"{found.kind}, but not this one: {found.why}"
    return f"{found.kind} after {policy.after.total_seconds():g} s"
