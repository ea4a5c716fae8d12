"""The commit points of a mail's way out."""

from typing import Final

from postroom.selftest.door import HangUp, Hold, Say, Stage
from postroom.selftest.house import PLAIN, House
from postroom.selftest.nursery import Birth
from postroom.selftest.play import WHO, Moment, Play, fate, hand_in, nothing, soon
from postroom.selftest.watching import RECOVER


_STORM: Final = tuple(f"doubt{n}@peer.example" for n in range(3))  # so many make a storm of doubt
RESENDING: Final = "resending"  # a mailbox that sends once more what is in doubt
ON_UNCERTAIN: Final = 'on_uncertain = { policy = "resend", after_s = 1 }'

CAPPED: Final = "capped"  # a mailbox that may send one mail a day
ONE_A_DAY: Final = "pace = { per_day = 1 }"

_ONCE_MORE: Final = "sent, 2 copies of one mail"
_HASTE: Final = Birth("", "", slow_s=0.3, longest_sleep_s=0.5)


def _key_and_fate(house: House) -> str:
    """Whether the job was known before it was handed in again, and what became of it."""
    house.memo.setdefault("known", house.find_job(WHO) is not None)
    again = house.hand_in(WHO)
    is_same = bool(again and again["deduplicated"]) or not house.memo["known"]
    known = "stored" if house.memo["known"] else "not stored"
    return f"{known}{'' if is_same else ' and accepted twice'}; handed in again: {fate(house)}"


def _fate_and_crashes(house: House) -> str:
    found = house.find_delivery(WHO)
    history = found["history"] if found else ()
    crashes = sum(row["reason_code"] == "crash.before_mark" for row in history)
    return f"{fate(house)}, {'put back' if crashes else 'never put back'}"


def _pause_and_expire(house: House) -> None:
    house.client.pause(PLAIN)
    house.hand_in(WHO, not_after=soon(house))


def _reason_and_fate(house: House) -> str:
    found = house.find_delivery(WHO)
    return f"{found and found['reason_code']}: {fate(house)}"


def _three_without_an_answer(house: House) -> None:
    house.door.on(Stage.DOT, Hold())
    for who in _STORM:
        house.hand_in(who)


def _breaker_and_doubt(house: House) -> str:
    (box,) = (one for one in house.client.mailboxes()["items"] if one["id"] == PLAIN)
    told = {house.tell(who) for who in _STORM}
    return f"breaker {box['breaker']['state']}; {', '.join(sorted(told))}"


def _refused_once(house: House) -> None:
    house.door.on(Stage.RCPT, Say("451 4.3.0 Later"), recipient=WHO, times=1)
    house.hand_in(WHO)
    house.until(lambda: house.door.tries.get(WHO), "a first try")


def _held_at_rcpt(house: House) -> None:
    house.door.on(Stage.RCPT, Hold(), recipient=WHO, times=1)
    house.hand_in(WHO)
    house.until(lambda: house.door.count_held(Stage.RCPT), "a dialogue at RCPT")


def _use_up_the_day(house: House) -> None:
    """The next life sees at once that the day's cap is used up."""
    house.hand_in(WHO, box=CAPPED)
    house.await_state(WHO, "sent")


def _alerts(house: House) -> str:
    """What was raised, in all lives."""
    raised = [one for one in house.client.events()["items"] if one["type"] == "alert.raised"]
    kinds = ", ".join(sorted({str(one["alert"]["kind"]) for one in raised}))
    return f"{len(raised)} alert{'' if len(raised) == 1 else 's'}: {kinds}"


def _doubt(house: House) -> None:
    in_doubt(house, RESENDING)


def _fate_of_the_resent(house: House) -> str:
    copies = [one for one in house.doors[RESENDING].handed if one.recipient == WHO]
    ids = {one.message["Message-ID"] for one in copies}
    return f"{house.tell(WHO, RESENDING)} of {'one mail' if len(ids) == 1 else 'several mails'}"


def in_doubt(house: House, box: str = PLAIN) -> None:
    """A mail that the relay took without an answer."""
    house.doors[box].on(Stage.DOT, HangUp(), recipient=WHO, times=1)
    house.hand_in(WHO, box=box)
    house.await_state(WHO, "uncertain")


PLAYS: Final = (
    Play(
        "intake.accept",
        "not stored; handed in again: sent, 1 copy",
        "stored; handed in again: sent, 1 copy",
        hand_in,
        _key_and_fate,
    ),
    Play(
        "loop.start",
        "sent, 1 copy, never put back",
        "sent, 1 copy, put back",
        hand_in,
        _fate_and_crashes,
    ),
    Play(
        "loop.mark",
        "sent, 1 copy, put back",
        "uncertain, 0 copies, never put back",
        hand_in,
        _fate_and_crashes,
    ),
    Play(
        "loop.finish",
        "uncertain, 1 copy, never put back",
        "sent, 1 copy, never put back",
        hand_in,
        _fate_and_crashes,
    ),
    Play(
        "loop.end_expired",
        "expired: failed, 0 copies",
        "expired: failed, 0 copies",
        nothing,
        _reason_and_fate,
        _pause_and_expire,
    ),
    Play(
        "loop.keep_breaker",
        "breaker closed; uncertain, 1 copy",
        "breaker open; uncertain, 1 copy",
        _three_without_an_answer,
        _breaker_and_doubt,
        moment=Moment.AT_BIRTH,
        birth=_HASTE,
    ),
    Play(
        "loop.pull_in",
        "sent, 1 copy",
        "sent, 1 copy",
        nothing,
        fate,
        _refused_once,
        Moment.AT_A_RESTART,
    ),
    Play(
        "alerts.move",
        "1 alert: cap_near",
        "1 alert: cap_near",
        nothing,
        _alerts,
        _use_up_the_day,
        Moment.AT_A_RESTART,
    ),
    Play("doubts.settle_due", _ONCE_MORE, _ONCE_MORE, nothing, _fate_of_the_resent, _doubt),
    Play(
        RECOVER,
        "sent, 1 copy, put back",
        "sent, 1 copy, put back",
        nothing,
        _fate_and_crashes,
        _held_at_rcpt,
        Moment.AT_A_RESTART,
    ),
)
