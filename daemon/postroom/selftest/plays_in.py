"""The commit points of mail that comes in, and of those who answer it."""

from typing import Any, Final

from postroom.client.errors import Conflict
from postroom.selftest.house import House
from postroom.selftest.play import SUPPORT, WHO, Moment, Play, nothing, reply_address


_AGENTS: Final = "agents"
_KINDS: Final = ("message.received", "reply.received")
_LONG_S: Final = 600.0
_SHORT_S: Final = 1.0  # the shortest that there is
_WAIT_S: Final = 5.0
_ALL_RECEIPTS: Final = 10  # so many failures make an event dead for a consumer
_QUESTION: Final = """\
From: Ann <ann@customer.example>
To: {to}
Subject: Which figures?
Date: Mon, 30 Nov 2026 09:00:00 +0000
Message-ID: <question-1@customer.example>

Which ones?
"""


def ask(house: House, to: str = SUPPORT) -> str:
    """A person writes; '' where it was taken."""
    return house.mail(to, _QUESTION.format(to=to))


def _count_events(house: House) -> int:
    return len(house.find_events(*_KINDS))


def _events_after_a_second_try(house: House) -> str:
    """The peer that got no answer comes again."""
    if "again" not in house.memo:
        house.memo["again"] = ask(house)
    return house.memo["again"] or f"{_count_events(house)} event"


def _an_event_waits(house: House) -> None:
    house.client.make_consumer(_AGENTS, _KINDS)
    ask(house)
    house.await_events(1, *_KINDS)


def _a_lease(house: House) -> None:
    _an_event_waits(house)
    house.memo["lease"] = house.client.lease(_AGENTS, wait_s=_WAIT_S, lease_s=_LONG_S)[0]


def _a_short_lease(house: House) -> None:
    _an_event_waits(house)
    house.memo["lease"] = house.client.lease(_AGENTS, wait_s=_WAIT_S, lease_s=_SHORT_S)[0]


def _acquire(house: House) -> None:
    house.client.lease(_AGENTS, lease_s=_SHORT_S)


def _next_fence(house: House) -> str:
    """The fence that the next agent gets, at once or when the lease is over."""
    if "next" not in house.memo:
        wait_s = 0.0 if house.memo.get("is_long") else _WAIT_S
        leases = house.client.lease(_AGENTS, wait_s=wait_s, lease_s=_LONG_S)
        house.memo["next"] = f"fence {leases[0]['fence']}" if leases else "held"
    return str(house.memo["next"])


def _a_long_lease(house: House) -> None:
    _a_lease(house)
    house.memo["is_long"] = True


def _extend(house: House) -> None:
    house.client.extend(house.memo["lease"], _LONG_S)


def _release(house: House) -> None:
    house.client.release(house.memo["lease"])


def _complete(house: House) -> Any:
    lease = house.memo["lease"]
    event: str = lease["events"][0]["id"]
    answer = {"in_reply_to_event": event, "text": "On Thursday.\n", "idempotency_key": WHO}
    return house.client.complete(lease, [answer])


def _lease_lives(house: House) -> str:
    try:
        _extend(house)
    except Conflict as lost:
        return lost.code
    return "lives on"


def _completed_again(house: House) -> str:
    if "was" not in house.memo:
        (agents,) = house.client.consumers()["items"]
        house.memo["was"] = "done" if not agents["pending"] else "not done"
        _complete(house)
    return f"{house.memo['was']}; again: {house.tell('ann@customer.example')[-6:]} of the answer"


def _make_consumer(house: House) -> None:
    house.client.make_consumer(_AGENTS)


def _drop_consumer(house: House) -> None:
    house.client.delete_consumer(_AGENTS)


def _consumers(house: House) -> str:
    names = [one["name"] for one in house.client.consumers()["items"]]
    return "there" if _AGENTS in names else "not there"


def _a_dead_event(house: House) -> None:
    _an_event_waits(house)
    for _ in range(_ALL_RECEIPTS):
        (lease,) = house.client.lease(_AGENTS, wait_s=_WAIT_S, lease_s=_LONG_S)
        house.client.release(lease, failed=True)
    (dead,) = house.client.dead_events()["items"]
    house.memo["event"] = dead["event"]["id"]


def _retry_event(house: House) -> None:
    house.client.retry_event(house.memo["event"], _AGENTS)


def _dead_events(house: House) -> str:
    return f"{len(house.client.dead_events()['items'])} dead"


def _a_copy(house: House) -> None:
    house.hand_in(WHO)
    house.await_state(WHO, "sent")


def _reply_to_the_copy(house: House) -> str:
    if "told" not in house.memo:
        house.memo["told"] = ask(house, reply_address(house.copy_for(WHO)))
    found = house.find_events("reply.received")
    return house.memo["told"] or f"{len(found)} answer by its address"


PLAYS: Final = (
    Play("inbox.receive", "1 event", "1 event", ask, _events_after_a_second_try),
    Play("inbox.publish", "1 event", "1 event", ask, _events_after_a_second_try),
    Play(
        "inbox.remember_keys",
        "1 answer by its address",
        "1 answer by its address",
        nothing,
        _reply_to_the_copy,
        _a_copy,
        Moment.AT_A_RESTART,
    ),
    Play("leases.acquire", "fence 1", "fence 2", _acquire, _next_fence, _an_event_waits),
    Play("leases.extend", "lives on", "lives on", _extend, _lease_lives, _a_lease),
    Play("leases.release", "held", "fence 2", _release, _next_fence, _a_long_lease),
    Play(
        "leases.complete",
        "not done; again: 1 copy of the answer",
        "done; again: 1 copy of the answer",
        _complete,
        _completed_again,
        _a_lease,
    ),
    Play("leases.sweep", "fence 2", "fence 2", nothing, _next_fence, _a_short_lease),
    Play("leases.make_consumer", "not there", "there", _make_consumer, _consumers),
    Play("leases.drop_consumer", "there", "not there", _drop_consumer, _consumers, _make_consumer),
    Play("leases.retry_event", "1 dead", "0 dead", _retry_event, _dead_events, _a_dead_event),
)
