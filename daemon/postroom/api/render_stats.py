"""The figures of the running daemon as they are shown: in all, and by mailbox."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from postroom.api.render_alerts import render_alert
from postroom.api.shapes_daemon import (
    EventsWaiting,
    InboundStats,
    LastMinute,
    MailboxStats,
    OpenBreaker,
    PaceUse,
    Stats,
    StoreStats,
)
from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant, format_instant
from postroom.ports import figures
from postroom.ports.leasing import WaitingEvents


_NOTHING: Final = WaitingEvents(None, 0, 0, None)


def render_stats(found: figures.Stats) -> Stats:
    """The three signals, and what stands behind them."""
    depth = Counter[DeliveryState]()
    for (_, _, state), count in found.depth.items():
        depth[state] += count
    outcomes = Counter[str]()
    for (_, word), count in found.outcomes.items():
        outcomes[word] += count
    ages = (_age_s(due_at, found.at) for due_at in found.oldest_due.values())
    mine = {one.consumer: one for one in found.consumers if one.consumer is not None}
    nobodys = next((one for one in found.consumers if one.consumer is None), _NOTHING)
    return Stats(
        at=format_instant(found.at),
        started_at=format_instant(found.started_at),
        in_flight=found.in_flight,
        slots=found.slots,
        depth=dict(depth),
        oldest_due_age_s=max(ages, default=0.0),
        outcomes=dict(outcomes),
        loop_lag_max_s=found.loop_lag_max.total_seconds(),
        last_minute=_sum(found.last_minute.values()),
        breakers=[_breaker(one) for one in found.breakers],
        pace=[_pace(one) for one in found.pace],
        connections=dict(found.connections),
        consumers={name: _waiting(one, found.at) for name, one in mine.items()},
        unclaimed=_waiting(nobodys, found.at),
        lease_expiries=found.lease_expiries,
        events_dead=found.events_dead,
        inbound=_inbound(found.inbound, found.at),
        store=_store(found.store),
        alerts=[render_alert(one) for one in found.alerts],
        mailboxes=_mailboxes(found),
    )


def _mailboxes(found: figures.Stats) -> dict[str, MailboxStats]:
    """Those that have something to say."""
    boxes: dict[str, MailboxStats] = {}

    def box(mailbox_id: str) -> MailboxStats:
        if mailbox_id not in boxes:
            boxes[mailbox_id] = MailboxStats(
                depth={},
                oldest_due_age_s={},
                outcomes={},
                last_minute=_sum([found.last_minute.get(mailbox_id, figures.Minute())]),
                paused_by=found.paused.get(mailbox_id),
            )
        return boxes[mailbox_id]

    for mailbox_id in (*found.last_minute, *found.paused):
        box(mailbox_id)
    for (mailbox_id, lane, state), count in found.depth.items():
        box(mailbox_id).depth.setdefault(lane.word, {})[state] = count
    for (mailbox_id, lane), due_at in found.oldest_due.items():
        box(mailbox_id).oldest_due_age_s[lane.word] = _age_s(due_at, found.at)
    for (mailbox_id, word), count in found.outcomes.items():
        box(mailbox_id).outcomes[word] = count
    return boxes


def _sum(minutes: Iterable[figures.Minute]) -> LastMinute:
    given = list(minutes)
    return LastMinute(
        accepted=sum(one.accepted for one in given),
        sent=sum(one.sent for one in given),
        failed=sum(one.failed for one in given),
        deferred=sum(one.deferred for one in given),
    )


def _breaker(one: figures.OpenBreaker) -> OpenBreaker:
    return OpenBreaker(
        scope=one.scope,
        id=one.id,
        state=one.state,
        reason=one.reason,
        probe_at=None if one.probe_at is None else format_instant(one.probe_at),
    )


def _pace(one: figures.PaceUse) -> PaceUse:
    return PaceUse(scope=one.scope, id=one.id, per=one.per, used=one.used, allowed=one.allowed)


def _waiting(one: WaitingEvents, now: Instant) -> EventsWaiting:
    return EventsWaiting(
        events=one.events, leased=one.leased, oldest_age_s=_age_or_none(one.oldest_at, now)
    )


def _inbound(one: figures.InboundFigures, now: Instant) -> InboundStats:
    return InboundStats(
        received=one.received,
        refused=one.refused,
        set_aside=one.set_aside,
        waiting=one.waiting,
        oldest_age_s=_age_or_none(one.oldest_at, now),
        sessions=one.sessions,
    )


def _store(one: figures.StoreFigures) -> StoreStats:
    return StoreStats(
        commits=one.commits,
        commit_s=one.busy.total_seconds(),
        waiting=one.waiting,
        wal_bytes=one.wal_bytes,
        disk_free_bytes=one.disk_free,
        disk_kept_bytes=one.disk_kept,
        disk_free_files=one.files_free,
        disk_kept_files=one.files_kept,
    )


def _age_or_none(since: Instant | None, now: Instant) -> float | None:
    return None if since is None else _age_s(since, now)


def _age_s(since: Instant, now: Instant) -> float:
    return max(0.0, (now - since) / SECOND)
