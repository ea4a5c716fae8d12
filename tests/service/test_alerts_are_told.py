"""Alerts reach who owns the mailbox: once, through a way that is well, and never as a storm."""

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest

from postroom.core.alert import AlertKey, AlertKind, AlertScope
from postroom.core.breaker import CLOSED, trip
from postroom.core.changeover import mailbox_state, relay_state
from postroom.core.instant import MINUTE, Instant
from postroom.core.mailbox import Mailbox, Relay, Tls
from postroom.core.reason import ReasonCode
from postroom.core.world import Host, RelayState, World
from postroom.ops.chronicle import Chronicle
from postroom.ops.depth import Depth
from postroom.ops.logbook import Logbook
from postroom.ops.logwords import LogFormat, LogLevel
from postroom.ops.throttle import Throttle
from postroom.ports.errors import StoreUnavailable
from postroom.service.alerttelling import MAILS_AN_HOUR, AlertTeller
from postroom.service.ownermail import OwnerMail
from support.clock import FakeClock
from support.posted import Posted
from support.raised import DOWN, failing, raised
from support.store_host import NOON


K = AlertKind
S = AlertScope
DISK = AlertKey(K.DISK_LOW, S.DAEMON, "")
CONSUMER = AlertKey(K.EVENTS_WAITING, S.CONSUMER, "agent")


def slow(box: str) -> AlertKey:
    return AlertKey(K.ATTEMPTS_DRIFTING, S.MAILBOX, box, box)


class Office:
    """Three mailboxes on two relays; sales and support have one owner, hr another."""

    def __init__(self, *boxes: Mailbox, refuses: frozenset[str] = frozenset()) -> None:
        self.clock, self.log = FakeClock(NOON), StringIO()
        book = Logbook(self.log, self.clock, LogLevel.INFO, LogFormat.JSON, {})
        self.relays: dict[str, RelayState] = {
            id_: relay_state(Relay(id_, "relay.example", 25, Tls.NONE)) for id_ in ("main", "other")
        }
        self.worlds = {
            one.id: World(Host(9), self.relays[one.relay_id], mailbox_state(one))
            for one in boxes
            or (box("sales"), box("support", "other"), box("hr", owner="hr@example.com"))
        }
        self.posted = Posted(refuses)
        chronicle = Chronicle(book, Throttle(self.clock))
        mail = OwnerMail(self.posted, self.posted, self.worlds, Depth({}), chronicle, "secret")
        self.teller = AlertTeller(mail, self.clock, lambda: "host.example")

    async def tell(
        self, *keys: AlertKey, cleared: tuple[AlertKey, ...] = ()
    ) -> list[tuple[str, str]]:
        """Who was told, through which mailbox."""
        before = len(self.posted.jobs)
        over = [raised(key) for key in cleared]
        self.teller.note(self.clock.now(), [raised(key) for key in keys], over)
        await self.teller.tell()
        return [(one["to"][0], one["mailbox_id"]) for one in self.posted.jobs[before:]]

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


def box(
    id_: str, relay: str = "main", owner: str | None = "ops@example.com", **more: Any
) -> Mailbox:
    return Mailbox(id_, f"{id_}@example.com", "", relay, owner=owner, **more)


TOLD: dict[str, tuple[AlertKey, list[tuple[str, str]]]] = {
    "of a mailbox, its owner": (failing("sales"), [("ops@example.com", "sales")]),
    "of another mailbox, its owner": (failing("hr"), [("hr@example.com", "hr")]),
    "of what is wrong with a way, through the other": (
        slow("sales"),
        [("ops@example.com", "support")],
    ),
    "of a way where there is no own other, through anybody's": (
        slow("hr"),
        [("hr@example.com", "support")],
    ),
    "of a relay, the owners of its mailboxes": (
        DOWN,
        [("hr@example.com", "support"), ("ops@example.com", "support")],
    ),
    "of the disk, every owner": (DISK, [("hr@example.com", "hr"), ("ops@example.com", "sales")]),
    "of a consumer, every owner": (
        CONSUMER,
        [("hr@example.com", "hr"), ("ops@example.com", "sales")],
    ),
    "of a mailbox that is gone, nobody": (failing("gone"), []),
}


@pytest.mark.parametrize(("key", "expected"), TOLD.values(), ids=TOLD)
async def test_who_is_told_and_through_which_mailbox(
    key: AlertKey, expected: list[tuple[str, str]]
) -> None:
    assert await Office().tell(key) == expected


@pytest.mark.parametrize("key", [DOWN, DISK])
def test_many_owners_do_not_hold_up_the_loop(key: AlertKey) -> None:
    """Each mailbox is looked at a few times, and not once for every owner there is."""

    class Counting(dict[str, World]):
        looks = 0

        def get(self, name: str, otherwise: Any = None) -> Any:
            Counting.looks += 1
            return super().get(name, otherwise)

        def items(self) -> Any:
            Counting.looks += len(self)
            return super().items()

    count = 200
    office = Office(*(box(f"b{n}", owner=f"o{n}@example.com") for n in range(count)))
    worlds = Counting(office.worlds)
    mail = office.teller._mail
    mail._worlds = worlds
    office.teller.note(NOON, [raised(key)], [])
    assert len(office.teller._notices) == count
    assert Counting.looks <= 3 * count


WAYS: dict[str, tuple[dict[str, Any], str]] = {
    "a mailbox that is blocked": ({"blocked": "sales"}, "support"),
    "a mailbox that is paused": ({"paused": "sales"}, "support"),
    "a relay that is down": ({"down": "main"}, "support"),
    "both ways down": ({"down": "main", "blocked": "support"}, "sales"),
}


@pytest.mark.parametrize(("broken", "through"), WAYS.values(), ids=WAYS)
async def test_a_way_that_is_not_well_is_taken_only_where_there_is_no_other(
    broken: dict[str, Any], through: str
) -> None:
    office = Office()
    opened = trip(CLOSED, ReasonCode.RELAY_UNREACHABLE, NOON)
    if "down" in broken:
        office.relays["main"].breaker = opened
    if "blocked" in broken:
        office.worlds[broken["blocked"]].mailbox.breaker = opened
    if "paused" in broken:
        office.worlds["sales"].mailbox.paused_by = "uid:0"
    assert await office.tell(failing("sales")) == [("ops@example.com", through)]


async def test_a_mailbox_that_may_not_write_to_the_owner_is_passed_over() -> None:
    office = Office(box("sales", recipients_allow=("customers.example",)), box("support", "other"))
    assert await office.tell(failing("sales")) == [("ops@example.com", "support")]


async def test_what_a_full_mailbox_refuses_the_next_one_carries() -> None:
    office = Office(refuses=frozenset({"sales"}))
    assert await office.tell(failing("sales")) == [("ops@example.com", "support")]


async def test_where_nobody_can_be_told_the_log_says_so_once_and_it_is_tried_again() -> None:
    office = Office(box("sales", recipients_deny=("example.com",)))
    assert await office.tell(failing("sales")) == []
    await office.teller.tell()
    (line,) = office.lines()
    assert (line["event"], line["level"]) == ("owner.untold", "error")
    assert "ops" not in json.dumps(line)
    world = office.worlds["sales"]
    world.mailbox.mailbox = replace(world.mailbox.mailbox, recipients_deny=())
    await office.teller.tell()
    assert len(office.posted.jobs) == 1


async def test_all_that_moves_in_a_minute_is_one_mail() -> None:
    office = Office()
    keys = [failing("sales"), failing("support"), DISK]
    assert len(await office.tell(*keys, cleared=(DOWN,))) == 2
    ours = next(one for one in office.posted.jobs if one["to"] == ["ops@example.com"])
    assert ours["subject"] == "3 alerts: failures clustering: mailbox sales, and more"
    for words in ("mailbox support", "the daemon", "Over: relay down: relay main", "host.example"):
        assert words in ours["text"]
    assert (ours["priority"], ours["auto_submitted"]) == ("high", "auto-generated")
    assert all(len(job["subject"]) < 1000 for job in office.posted.jobs)


async def test_what_is_over_is_told_too() -> None:
    office = Office()
    assert await office.tell(cleared=(failing("sales"),)) == [("ops@example.com", "sales")]
    assert office.posted.jobs[0]["subject"] == "Over: failures clustering: mailbox sales"


async def test_a_storm_of_alerts_is_six_mails_in_an_hour() -> None:
    office = Office()
    for _ in range(40):
        await office.tell(failing("sales"))
        office.clock.advance(60)
    assert len(office.posted.jobs) == MAILS_AN_HOUR
    for _ in range(90):
        await office.teller.tell()
        office.clock.advance(60)
    assert len(office.posted.jobs) == 2 * MAILS_AN_HOUR, "what is older than an hour is dropped"


async def test_a_letter_about_hundreds_of_alerts_is_bounded() -> None:
    office = Office()
    many = [
        replace(
            failing("sales"), scope=S.WORKFLOW, name="x\r\nBcc: y@example.com \u202e" * 9 + str(n)
        )
        for n in range(300)
    ]
    await office.tell(*many)
    (job,) = office.posted.jobs
    assert "And 250 more" in job["text"]
    assert not {"\r", "\u202e"} & {*job["text"], *job["subject"]}
    assert "\nBcc" not in job["text"]


async def test_a_restart_tells_what_the_crash_left_untold_and_nothing_twice() -> None:
    office = Office()
    await office.tell(DISK)
    told = len(office.posted.jobs)
    young, old = Instant(NOON + MINUTE), Instant(NOON - 61 * MINUTE)
    office.clock.advance(120)
    again = Office()
    again.clock, again.posted.jobs = office.clock, office.posted.jobs
    for id_ in ("sales", "hr"):  # so that another mailbox would be chosen now
        again.worlds[id_].mailbox.paused_by = "uid:0"
    teller = AlertTeller(again.teller._mail, office.clock, lambda: "host.example")
    teller.restore(
        [raised(DISK, NOON), raised(failing("hr"), young), raised(failing("sales"), old)]
    )
    await teller.tell()
    assert [one["to"][0] for one in again.posted.jobs[told:]] == ["hr@example.com"]


async def test_a_store_that_is_away_is_asked_again() -> None:
    office = Office()
    office.posted.fault = StoreUnavailable("away")
    with pytest.raises(StoreUnavailable):
        await office.tell(failing("sales"))
    office.posted.fault = None
    await office.teller.tell()
    await office.teller.tell()
    assert len(office.posted.jobs) == 1
