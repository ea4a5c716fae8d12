"""Ugly paths of mail that comes in."""

from typing import Any, Final

from postroom.selftest.house import PLAIN, House
from postroom.selftest.play import WHO, reply_address
from postroom.selftest.settings import HASTY
from postroom.selftest.signature import MAIL, OTHER_WORDS, SIGNED_FOR, WORDS


SIGNED_BOXES: Final = {PLAIN: HASTY, SIGNED_FOR: f'{HASTY}\nrequire = "dkim"'}

_WAIT_S: Final = 10.0
_ANSWER: Final = """\
From: {who}
To: {to}
Subject: Re: s
Date: Mon, 30 Nov 2026 09:00:00 +0000
Message-ID: <answer-1@peer.example>

Yes, please.
"""


def forges_a_token(house: House) -> str:
    """Somebody answers at an address that nobody was given, then at the one that was."""
    house.start()
    address = _address_given(house)
    token = address.partition("-")[2].partition("@")[0]
    other = token[:-1] + ("a" if token[-1] != "a" else "b")
    said = house.mail(address.replace(token, other), _answer(address), WHO)
    events = len(house.find_events("reply.received", "message.received"))
    house.mail(address, _answer(address), WHO)
    (event,) = house.await_events(1, "reply.received")
    status = event["authentication"]["reply_token"]["status"]
    return f"forged: {said[:9]}, {events or 'no'} event; genuine: 1 answer, token {status}"


def tampers_with_a_body(house: House) -> str:
    """The same signed mail with other words, then as it was signed."""
    house.start()
    seen: list[str] = []
    for content in (MAIL.replace(WORDS, OTHER_WORDS), MAIL):
        house.mail(f"{SIGNED_FOR}@example.com", content, "ann@signed.example")
        event = house.await_events(len(seen) + 1, "message.received")[-1]
        leases = house.client.lease("agents")
        result = event["authentication"]["dkim"][0]["result"]
        accepted = "accepted" if event.get("accepted", True) else "not accepted"
        seen.append(f"dkim {result}, {accepted}, wakes {'an agent' if leases else 'nobody'}")
    return f"tampered: {seen[0]}; intact: {seen[1]}"


def is_answered(house: House) -> str:
    """A person answers a mail of ours, and an agent answers that."""
    house.start()
    address = _address_given(house)
    house.client.make_consumer("agents", start="now")
    house.mail(address, _answer(address), WHO)
    (lease,) = house.client.lease("agents", wait_s=_WAIT_S)
    (event,) = lease["events"]
    house.client.complete(lease, [{"in_reply_to_event": event["id"], "text": "On Thursday.\n"}])
    house.until(lambda: house.door.copies(WHO) > 1, "an answer at the relay")
    answers = [one.message for one in house.door.handed if one.message["In-Reply-To"]]
    is_in_thread = all(one["In-Reply-To"] == "<answer-1@peer.example>" for one in answers)
    thread: Any = event["thread"]
    status = event["authentication"]["reply_token"]["status"]
    word = "answer in its thread" if is_in_thread else "answer elsewhere"
    return f"{event['type']} by {thread['matched_by']}, {status}, leased, answered; wire: {len(answers)} {word}"


def _address_given(house: House) -> str:
    """A mail goes out; where its answers are to go."""
    house.hand_in(WHO)
    house.await_state(WHO, "sent")
    return reply_address(house.copy_for(WHO))


def _answer(address: str) -> str:
    return _ANSWER.format(who=WHO, to=address)
