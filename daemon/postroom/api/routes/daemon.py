"""The daemon itself: alive, ready, what it does, what it is, and its own description."""

from typing import Final

from postroom.api.problems import Code, Refusal
from postroom.api.render_stats import render_stats
from postroom.api.requests import Asked
from postroom.api.routing import Answer, Call, Result, Route, Text
from postroom.api.shapes_daemon import ClockView, Health, Ready, Stats, Version
from postroom.core.instant import format_instant


# Prometheus' text format.
METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


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
    return Text((await call.parts.signals.metrics_text()).encode(), METRICS_TYPE)


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
        content_type=METRICS_TYPE,
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
