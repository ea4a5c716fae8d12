"""The daemon itself: alive, ready, what it does, what it is, and its own description."""

from collections import Counter, defaultdict
from typing import Final

from postroom.api.problems import Code, Refusal
from postroom.api.requests import Asked
from postroom.api.routing import Answer, Call, Result, Route, Text
from postroom.api.shapes_alerts import StandingAlert
from postroom.api.shapes_daemon import ClockView, Health, MailboxStats, Ready, Stats, Version
from postroom.core.alert import CAUSES, MEANINGS, Raised
from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import SECOND, Instant, format_instant
from postroom.ports import loop


# Prometheus' text format.
_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"


async def health(call: Call[Asked, None]) -> Result:
    """That this is answered is the answer."""
    return Answer(Health(status="ok"))


async def ready(call: Call[Asked, None]) -> Result:
    """Whether new work can be taken."""
    if call.parts.stopping.is_set():
        return Refusal(Code.NOT_READY, "The daemon is stopping.")
    found = await call.parts.signals.readiness()
    return (
        Answer(Ready(status="ready")) if found.is_ready else Refusal(Code.NOT_READY, found.detail)
    )


async def stats(call: Call[Asked, None]) -> Result:
    """The three signals."""
    return Answer(render_stats(await call.parts.signals.stats()))


async def metrics(call: Call[Asked, None]) -> Result:
    """The same and more for Prometheus."""
    return Text((await call.parts.signals.metrics_text()).encode(), _METRICS)


async def clock(call: Call[Asked, None]) -> Result:
    """What time it is for the daemon, and whether it believes that."""
    at = format_instant(call.parts.clock.now())
    return Answer(ClockView(at=at, is_doubted=call.parts.trust.is_doubted()))


async def confirm_clock(call: Call[Asked, Asked]) -> Result:
    """A person says that the clock is right."""
    if not call.parts.is_operator(call.actor.uid):
        return Refusal(Code.NOT_ALLOWED, "What the clock holds back concerns all mail.")
    call.parts.trust.confirm()
    at = format_instant(call.parts.clock.now())
    return Answer(ClockView(at=at, is_doubted=False))


async def version(call: Call[Asked, None]) -> Result:
    """What runs here."""
    return Answer(Version(name="postroom", version=call.parts.version, api="v1"))


def render_stats(found: loop.Stats) -> Stats:
    """The three signals, in all and by mailbox."""
    depth = Counter[DeliveryState]()
    outcomes = Counter[str]()
    boxes: defaultdict[str, MailboxStats] = defaultdict(
        lambda: MailboxStats(depth={}, oldest_due_age_s={}, outcomes={})
    )
    for (mailbox_id, lane, state), count in found.depth.items():
        boxes[mailbox_id].depth.setdefault(lane.word, {})[state] = count
        depth[state] += count
    for (mailbox_id, lane), due_at in found.oldest_due.items():
        boxes[mailbox_id].oldest_due_age_s[lane.word] = _age_s(due_at, found.at)
    for (mailbox_id, word), count in found.outcomes.items():
        boxes[mailbox_id].outcomes[word] = count
        outcomes[word] += count
    return Stats(
        at=format_instant(found.at),
        started_at=format_instant(found.started_at),
        in_flight=found.in_flight,
        slots=found.slots,
        depth=dict(depth),
        oldest_due_age_s=max(
            (_age_s(one, found.at) for one in found.oldest_due.values()), default=0.0
        ),
        outcomes=dict(outcomes),
        loop_lag_max_s=found.loop_lag_max.total_seconds(),
        alerts=[_alert(one) for one in found.alerts],
        mailboxes=dict(boxes),
    )


def _alert(one: Raised) -> StandingAlert:
    alert, meaning = one.alert, MEANINGS[one.alert.key.kind]
    return StandingAlert(
        kind=alert.key.kind,
        scope=alert.key.scope,
        name=alert.key.name,
        mailbox_id=alert.key.mailbox_id,
        since_at=format_instant(alert.since),
        raised_at=format_instant(one.raised_at),
        figure=alert.figure,
        threshold=alert.threshold,
        cause=alert.cause,
        means=meaning.means,
        likely=CAUSES[alert.cause],
        to_do=meaning.to_do,
        event_id=encode_id(Kind.EVENT, one.seq),
    )


def _age_s(due_at: Instant, now: Instant) -> float:
    return max(0.0, (now - due_at) / SECOND)


ROUTES: Final = (
    Route("GET", "/healthz", health, "Alive", {200: Health}, is_bare=True),
    Route("GET", "/readyz", ready, "Ready for work", {200: Ready}, (Code.NOT_READY,), is_bare=True),
    Route("GET", "/stats", stats, "Depth, wait, outcomes", {200: Stats}, is_bare=True),
    Route(
        "GET",
        "/metrics",
        metrics,
        "Metrics for Prometheus",
        {200: None},
        content_type=_METRICS,
        is_bare=True,
    ),
    Route("GET", "/clock", clock, "What time it is for the daemon", {200: ClockView}),
    Route(
        "POST",
        "/clock/confirm",
        confirm_clock,
        "Say that the clock is right",
        {200: ClockView},
        (Code.NOT_ALLOWED,),
        body=Asked,
    ),
    Route("GET", "/version", version, "What runs here", {200: Version}),
)
