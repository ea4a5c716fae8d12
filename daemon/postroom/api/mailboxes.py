"""A mailbox as it is told: what the settings say, what the store remembers, how its breakers stand, what is slowed down."""

from postroom.api.parts import Parts
from postroom.api.render import render_instant
from postroom.api.shapes_daemon import Breaker, Mailbox, MailboxState, Slowed
from postroom.core.instant import format_instant
from postroom.core.record import MailboxRecord
from postroom.ports.loop import BreakerView, SlowedView


async def find_mailbox(parts: Parts, mailbox_id: str) -> Mailbox:
    """One configured mailbox as it stands."""
    found = await parts.reader.find_mailboxes()
    stored = next((one for one in found if one.mailbox_id == mailbox_id), None)
    return render_mailbox(parts, mailbox_id, stored)


def render_mailbox(parts: Parts, mailbox_id: str, stored: MailboxRecord | None) -> Mailbox:
    """A mailbox that is configured, stored or both."""
    configured = parts.mailboxes.get(mailbox_id)
    own, relays = parts.loop.find_breakers(mailbox_id) or (None, None)
    state = MailboxState.ACTIVE
    if configured is None:
        state = MailboxState.REMOVED
    elif stored is not None and stored.paused_at is not None:
        state = MailboxState.PAUSED
    elif _is_open(own) or _is_open(relays):
        state = MailboxState.BLOCKED
    return Mailbox(
        id=mailbox_id,
        address=None if configured is None else configured.address,
        relay=None if configured is None else configured.relay_id,
        state=state,
        paused_by=None if stored is None else stored.paused_by,
        paused_reason=None if stored is None else stored.paused_reason,
        paused_at=None if stored is None else render_instant(stored.paused_at),
        removed_at=None if stored is None else render_instant(stored.removed_at),
        breaker=_breaker(own),
        relay_breaker=_breaker(relays),
        slowed=[_slowed(view) for view in parts.loop.find_slowed(mailbox_id)],
    )


def _is_open(view: BreakerView | None) -> bool:
    return view is not None and view.state == "open"


def _breaker(view: BreakerView | None) -> Breaker | None:
    if view is None:
        return None
    probe_at = view.probe_at if _is_open(view) else None
    return Breaker(state=view.state, reason=view.reason, probe_at=render_instant(probe_at))


def _slowed(view: SlowedView) -> Slowed:
    return Slowed(
        domain=view.domain,
        reason=view.reason,
        per_minute=view.per_minute,
        at_once=view.at_once,
        was_per_minute=view.was_per_minute,
        was_at_once=view.was_at_once,
        since_at=format_instant(view.since),
    )
