"""Three recorded days through the real sampler: which alerts are raised and cleared, when, and what they say it comes from."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest

from postroom.ops.chronicle import Chronicle
from postroom.ops.logbook import Logbook
from postroom.ops.logwords import LogFormat, LogLevel
from postroom.ops.throttle import Throttle
from postroom.ports.desk import Reader
from postroom.ports.leasing import Leases
from postroom.service.alerting import AlertKeeper
from postroom.service.alerttelling import AlertTeller
from postroom.service.ownermail import OwnerMail
from postroom.service.sampling import SampleParts, Sampler
from postroom.store.sqlite.outbox import Outbox
from support.posted import Posted
from support.recorded import OWNER, Agent, Day, DayOver, Traffic, chance
from support.store_host import outbox_in


HOUR = 60


def keep(day: Day, outbox: Outbox, posted: Posted | None = None) -> AlertKeeper:
    """The keeper of a day, that mails to `posted`."""
    chronicle = Chronicle(
        Logbook(StringIO(), day, LogLevel.INFO, LogFormat.JSON, {}), Throttle(day)
    )
    posted = posted or Posted()
    parts: Any = SampleParts(
        cast(Reader, day), cast(Leases, day), day.depth, day.signals, day.worlds, day, day, day
    )
    mail = OwnerMail(posted, posted, day.worlds, day.depth, chronicle, "secret")
    teller = AlertTeller(mail, day, lambda: "host.example")
    return AlertKeeper(outbox.alerts, Sampler(parts), teller, day, chronicle)


async def played(day: Day, outbox: Outbox, posted: Posted | None = None) -> None:
    """The day has passed."""
    with pytest.raises(DayOver):
        await keep(day, outbox, posted).run()


def told(event: dict[str, Any]) -> tuple[str, str, str]:
    alert = event["alert"]
    return event["type"].removeprefix("alert."), f"{alert['kind']} {alert['name']}", alert["cause"]


async def log_of(outbox: Outbox) -> list["Moved"]:
    """Every alert that moved: when, raised or cleared, which, and from what."""
    log = await outbox.reader.find_events(0, 500)
    return [(_clock(one.created_at), *told({"type": str(one.type), **one.data})) for one in log]


def _clock(at: int) -> str:
    minute = at // 60_000_000 % (24 * HOUR)
    return f"{minute // HOUR:02}:{minute % HOUR:02}"


def office_hours(minute: int) -> bool:
    return 7 * HOUR <= minute < 19 * HOUR


def is_noisy(minute: int) -> float:
    """Mails in a minute: few at night, more by day, never the same; a batch that comes at once at ten."""
    if minute == 10 * HOUR:
        return 1500
    return int((9 if office_hours(minute) else 1.5) * 2 * chance("arrivals", minute))


def hiccups(minute: int) -> float:
    """Half a second, mostly; some minutes of half a minute."""
    return 30.0 if minute % 173 in {0, 1, 2, 3} else 0.2 + chance("latency", minute)


def noisy_day() -> Day:
    """Mail fails and is put off now and then, the relay stumbles, a doubt waits for its policy, an agent reads in bites."""
    support = Traffic(
        is_noisy,
        hiccups,
        fails=lambda minute: 0.05,
        put_off=lambda minute: 0.15,
        is_down=lambda minute: 14 * HOUR <= minute < 14 * HOUR + 4,
        doubts=lambda minute: 2 if 16 * HOUR <= minute < 16 * HOUR + 20 else 0,
    )
    sales = Traffic(
        lambda minute: chance("seldom", minute) > 0.97,
        fails=lambda _: 0.3,
        box="sales",
        relay="other",
    )
    agent = Agent(lambda minute: 2 * chance("event", minute), lambda minute: minute % 40 == 0)
    return Day((support, sales), (agent,))


def slow(minute: int) -> float:
    """From nine to one the relay needs twelve seconds instead of a half."""
    return 12.0 if 9 * HOUR <= minute < 13 * HOUR else 0.5


def slow_day() -> Day:
    """More mail comes than goes while the relay is slow."""
    return Day((Traffic(lambda minute: 24 + int(6 * chance(minute)), slow),))


def gone_day() -> Day:
    """From eleven to three nobody takes what comes for the agent."""
    agent = Agent(lambda minute: 1, lambda minute: not 11 * HOUR <= minute < 15 * HOUR)
    return Day((Traffic(lambda minute: 5),), (agent,))


Moved = tuple[str, str, str, str]
DAYS: dict[str, tuple[Callable[[], Day], list[Moved]]] = {
    "quiet but noisy": (noisy_day, []),
    "a slow relay": (
        slow_day,
        [
            ("09:24", "raised", "attempts_drifting support", "slow_relay"),
            ("09:38", "raised", "depth_rising support", "slow_relay"),
            ("09:42", "raised", "starts_drifting standard", "slow_relay"),
            ("13:16", "cleared", "attempts_drifting support", "slow_relay"),
            ("13:19", "cleared", "depth_rising support", "slow_relay"),
            ("13:33", "cleared", "starts_drifting standard", "slow_relay"),
        ],
    ),
    "a consumer that is gone": (
        gone_day,
        [
            ("12:00", "raised", "events_waiting agent", "consumer_gone"),
            ("15:06", "cleared", "events_waiting agent", "consumer_gone"),
        ],
    ),
}


@pytest.mark.parametrize("name", DAYS)
async def test_a_recorded_day_raises_what_it_should_when_it_should(
    tmp_path: Path, name: str
) -> None:
    make, expected = DAYS[name]
    posted = Posted()
    async with outbox_in(tmp_path) as outbox:
        await played(make(), outbox, posted)
        assert await log_of(outbox) == expected
        assert await outbox.alerts.find_raised() == ()
    assert len(posted.jobs) == len({when for when, *_ in expected})
    assert {one["to"][0] for one in posted.jobs} <= {OWNER}


@pytest.mark.parametrize("at", ["09:30", "10:00", "13:20"])
async def test_a_restart_neither_raises_an_alert_again_nor_forgets_it(
    tmp_path: Path, at: str
) -> None:
    """The second run knows nothing of the day before, so a drift can not be told again; what stands is cleared in time."""
    day, posted = slow_day(), Posted()
    day.minutes = int(at[:2]) * HOUR + int(at[3:])
    async with outbox_in(tmp_path) as outbox:
        await played(day, outbox, posted)
        before = await log_of(outbox)
        day.minutes = 24 * HOUR
        keeper = keep(day, outbox, posted)
        keeper.restore(await outbox.alerts.find_raised())
        assert len(keeper.raised()) == sum({"raised": 1, "cleared": -1}[one[1]] for one in before)
        day.forget()
        with pytest.raises(DayOver):
            await keeper.run()
        log = await log_of(outbox)
    assert log[: len(before)] == before
    raised = [name for _, how, name, _ in log if how == "raised"]
    assert sorted(raised) == sorted(name for _, how, name, _ in log if how == "cleared")
    assert sorted(set(raised)) == sorted(raised)
    assert len(posted.jobs) == len({when for when, *_ in log})
