"""Mail to owners takes a way that is well: the mailbox that it is about, the owner's others, anybody's."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest

from postroom.core.breaker import CLOSED, fault, trip
from postroom.core.changeover import mailbox_state, relay_state
from postroom.core.delivery import DeliveryState
from postroom.core.letter import Letter
from postroom.core.mailbox import Lane, Mailbox, Relay, Tls
from postroom.core.reason import ReasonCode
from postroom.core.world import Host, World
from postroom.ops.chronicle import Chronicle
from postroom.ops.depth import Depth
from postroom.ops.logbook import Logbook
from postroom.ops.logwords import LogFormat, LogLevel
from postroom.ops.throttle import Throttle
from postroom.service.ownermail import OwnerMail, Posting
from support.clock import FakeClock
from support.post import open_post, settings
from support.posted import Posted
from support.relay import ScriptedRelay
from support.relay_script import Drop
from support.store_host import NOON


OWNER = "ops@example.com"
OWNERS = {"alpha": OWNER, "hr": "hr@example.com", "sales": OWNER, "zeta": OWNER}
OPENED = trip(CLOSED, ReasonCode.RELAY_UNREACHABLE, NOON)
ONE_FAULT = fault(CLOSED, NOON, timedelta(hours=1))


class Office:
    """Four mailboxes, each with its relay; all but hr's have one owner."""

    def __init__(self) -> None:
        self.worlds = {id_: _world(id_, owner) for id_, owner in OWNERS.items()}
        self.depth: dict[tuple[str, Lane, DeliveryState], int] = {}
        self.posted = Posted()

    async def carrier(self, *about: str) -> str:
        """The mailbox that carries a letter about these to the owner."""
        mail = self.mail("secret")
        assert await mail.post(Posting(Letter("Hello", "There"), OWNER, "key", frozenset(about)))
        return str(self.posted.jobs[-1]["mailbox_id"])

    def mail(self, secret: str) -> OwnerMail:
        """What hands letters in."""
        clock = FakeClock(NOON)
        book = Logbook(StringIO(), clock, LogLevel.INFO, LogFormat.JSON, {})
        chronicle = Chronicle(book, Throttle(clock))
        depth = Depth(self.depth)
        return OwnerMail(self.posted, self.posted, self.worlds, depth, chronicle, secret)


def _world(id_: str, owner: str) -> World:
    relay = relay_state(Relay(id_, "relay.example", 25, Tls.NONE))
    return World(
        Host(9),
        relay,
        mailbox_state(Mailbox(id_, f"{id_}@example.com", "", id_, owner=owner)),
    )


def _doubt(office: Office, box: str) -> None:
    office.depth[box, Lane.BULK, DeliveryState.UNCERTAIN] = 1


def _block(office: Office, box: str) -> None:
    office.worlds[box].mailbox.breaker = OPENED


def _break(office: Office, box: str) -> None:
    office.worlds[box].relay.breaker = OPENED


def _stumble(office: Office, box: str) -> None:
    office.worlds[box].relay.breaker = ONE_FAULT


def _pause(office: Office, box: str) -> None:
    office.worlds[box].mailbox.paused_by = "uid:0"


def _divert(office: Office, box: str) -> None:
    state = office.worlds[box].mailbox
    state.mailbox = replace(state.mailbox, divert_to="sink@example.com")


ILLS: dict[str, Callable[[Office, str], None]] = {
    "deliveries in doubt": _doubt,
    "a stopped mailbox": _block,
    "a relay that is down": _break,
    "a relay that broke off at the latest try": _stumble,
    "a pause": _pause,
    "a diversion": _divert,
}


async def test_the_mailbox_that_it_is_about_carries_it() -> None:
    assert await Office().carrier("sales") == "sales"
    assert await Office().carrier("zeta") == "zeta"


@pytest.mark.parametrize("ill", ILLS.values(), ids=ILLS)
async def test_where_that_one_is_not_well_the_owners_next_carries_it(
    ill: Callable[[Office, str], None],
) -> None:
    office = Office()
    ill(office, "sales")
    assert await office.carrier("sales") == "alpha"


@pytest.mark.parametrize("ill", ILLS.values(), ids=ILLS)
async def test_mail_about_no_mailbox_passes_over_who_is_not_well(
    ill: Callable[[Office, str], None],
) -> None:
    office = Office()
    ill(office, "alpha")
    assert await office.carrier() == "sales"


async def test_where_none_of_the_owners_is_well_anybody_carries_it() -> None:
    office = Office()
    for box in ("alpha", "sales", "zeta"):
        _doubt(office, box)
    assert await office.carrier("sales") == "hr"


async def test_where_nobody_is_well_it_waits_in_the_mailbox_that_it_is_about() -> None:
    office = Office()
    for box in OWNERS:
        _break(office, box)
    assert await office.carrier("sales") == "sales"


SECOND = """
[[mailbox]]
id = "another"
address = "another@example.com"
owner = "ops@example.com"
relay = { host = "127.0.0.1", port = PORT, tls = "none" }
"""


async def test_a_relay_that_answers_no_final_dot_does_not_get_the_digest_of_another_mailbox(
    tmp_path: Path,
) -> None:
    """All real: what is in doubt is counted as the store counts it, and outlives the relay's recovery."""
    async with ScriptedRelay() as relay, ScriptedRelay() as silent:
        more = SECOND.replace("PORT", str(silent.port))
        said = settings(tmp_path, relay.port, mailbox=f'owner = "{OWNER}"', more=more)
        async with open_post(said) as post:
            silent.on("dot", Drop(), times=1)
            await post.submit(to=["ceo@example.com"], mailbox_id="another")
            await post.quiet()
            await post.submit(to=["cto@example.com"], mailbox_id="another")
            await post.run(60)
            assert silent.copies("cto@example.com") == 1
            await post.joined.digests._look()
            post.clock.advance(24 * 3600)
            await post.joined.digests._look()
            await post.quiet()
            assert (relay.copies(OWNER), silent.copies(OWNER)) == (1, 0)


def test_the_same_letter_has_the_same_key_and_nobody_else_can_tell_which() -> None:
    one, again, other = (Office().mail(secret) for secret in ("a", "a", "b"))
    key = one.key("digest", "support 1")
    assert key == again.key("digest", "support 1")
    assert key.startswith("postroom-digest-")
    assert key not in {other.key("digest", "support 1"), one.key("digest", "support 2")}
