"""What waits on what, and until when: the whole daemon, a relay, a mailbox, a lane."""

from collections import defaultdict
from typing import Final

from postroom.api.parts import Parts
from postroom.api.problems import NOT_FOUND, Code
from postroom.api.render import render_instant
from postroom.api.requests import WaitingQuery
from postroom.api.routing import Answer, Call, Result, Route
from postroom.api.shapes import Hold
from postroom.api.shapes_waiting import Lane, Queue, Retries, Waiting
from postroom.core import mailbox
from postroom.core.delivery import UNSETTLED, DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import SECOND, format_instant
from postroom.ports.figures import Stats
from postroom.ports.loop import QueueView


_WAITS: Final = UNSETTLED | {DeliveryState.UNCERTAIN}


async def list_waiting(call: Call[WaitingQuery, None]) -> Result:
    """What each lane waits for."""
    parts, asked = call.parts, call.query
    stats = await parts.signals.stats()
    known = {box for box, _, _ in stats.depth} | parts.mailboxes.keys()
    chosen = {box for box in known if _is_asked(parts, box, asked)}
    if not chosen and (asked.mailbox_id or asked.relay):
        return NOT_FOUND
    holds = [one for one in await parts.reader.find_holds() if one.mailbox_id in chosen]
    retries = [
        one
        for box in sorted({box for box, _, state in stats.depth if state == "retry_scheduled"})
        if box in chosen
        for one in await parts.reader.find_retries(box)
        if asked.priority in (None, one.lane.word)
    ]
    return Answer(
        Waiting(
            at=format_instant(stats.at),
            in_flight=stats.in_flight,
            slots=stats.slots,
            items=_lanes(parts, stats, chosen, asked.priority),
            next_cursor=None,
            holds=[Hold(one.mailbox_id, str(one.hold_reason), one.deliveries) for one in holds],
            retries=[
                Retries(
                    mailbox_id=one.mailbox_id,
                    priority=one.lane.word,
                    reason_code=one.reason_code,
                    deliveries=one.deliveries,
                    next_at=format_instant(one.next_at),
                )
                for one in retries
            ],
        )
    )


def _is_asked(parts: Parts, mailbox_id: str, asked: WaitingQuery) -> bool:
    if asked.mailbox_id not in (None, mailbox_id):
        return False
    return asked.relay is None or asked.relay == _relay_of(parts, mailbox_id)


def _relay_of(parts: Parts, mailbox_id: str) -> str | None:
    found = parts.mailboxes.get(mailbox_id)
    return None if found is None else found.relay_id


def _lanes(parts: Parts, stats: Stats, chosen: set[str], priority: str | None) -> list[Lane]:
    """Every lane that something waits in, by mailbox, the fastest lane first."""
    queues: defaultdict[tuple[str, mailbox.Lane], list[Queue]] = defaultdict(list)
    for view in parts.loop.find_queues():
        queues[view.mailbox_id, view.lane].append(_queue(view))
    depth: defaultdict[tuple[str, mailbox.Lane], dict[DeliveryState, int]] = defaultdict(dict)
    for (box, lane, state), count in stats.depth.items():
        if state in _WAITS:
            depth[box, lane][state] = count
    places = sorted(
        (box, lane)
        for box, lane in depth.keys() | queues.keys()
        if box in chosen and priority in (None, lane.word)
    )
    return [
        Lane(
            mailbox_id=box,
            relay=_relay_of(parts, box),
            priority=lane.word,
            depth=depth[box, lane],
            oldest_due_age_s=max(0.0, (stats.at - due) / SECOND) if due is not None else 0.0,
            queues=queues[box, lane],
        )
        for box, lane in places
        for due in [stats.oldest_due.get((box, lane))]
    ]


def _queue(view: QueueView) -> Queue:
    stop = view.stop
    return Queue(
        domain=view.domain,
        first_id=None if view.first is None else encode_id(Kind.DELIVERY, view.first),
        blocked_by=None if stop is None else stop.name,
        value=None if stop is None else stop.value,
        threshold=None if stop is None else stop.threshold,
        until_at=None if stop is None else render_instant(stop.until),
        read=view.read,
        next_at=render_instant(view.next_at),
    )


ROUTES: Final = (
    Route(
        "GET",
        "/waiting",
        list_waiting,
        "What waits on what",
        {200: Waiting},
        (Code.NOT_FOUND,),
        query=WaitingQuery,
    ),
)
