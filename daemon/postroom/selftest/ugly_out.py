"""Ugly paths of a mail's way out."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from postroom.client.errors import Invalid
from postroom.selftest.door import HangUp, Hold, Say, Stage
from postroom.selftest.house import PLAIN, House, copies
from postroom.selftest.nursery import Birth
from postroom.selftest.play import WHO, soon


_PATIENCE: Final = Birth("", "", patience_s=1.0)
_FINE: Final = "fine{n}@peer.example"
_LIVES: Final = 3  # so many recoveries find a poison job before its mark
_BURST: Final = 20
_BURST_S: Final = 3.0  # five at once, fifteen at five a second
_SLACK_S: Final = 0.1
_TWINS: Final = 10


def _times_out(house: House, stage: Stage) -> str:
    house.door.on(stage, Hold(), times=1)
    house.start(_PATIENCE)
    house.hand_in(WHO)
    ended = house.await_state(WHO, "sent", "failed", "uncertain")
    steps = [row["to"] for row in ended["history"]]
    waited = "retry_scheduled, then " if "retry_scheduled" in steps else ""
    begun = len(house.door.begun_at_s)
    return f"{waited}{_ended(ended)}; wire: MAIL {begun} times, {_wire(house)}"


TIMES_OUT: Final[dict[Stage, Callable[[House], str]]] = {
    stage: partial(_times_out, stage=stage) for stage in (Stage.MAIL, Stage.RCPT, Stage.DATA)
}


def keeps_failing(house: House) -> str:
    """A temporary refusal, each time."""
    house.door.on(Stage.RCPT, Say("451 4.3.0 Out of order"))
    house.start()
    house.hand_in(WHO)
    ended = house.await_state(WHO, "sent", "failed", "uncertain")
    tries = house.door.tries[WHO]
    return f"failed, {ended['reason_code']} at try {ended['attempts']}, {_letters(house)}; wire: RCPT {tries} times, {_wire(house)}"


def is_accepted(house: House) -> str:
    """The usual."""
    house.door.on(Stage.DOT, Say("250 2.0.0 Ok: queued as 4ABCdef"))
    house.start()
    house.hand_in(WHO)
    ended = house.await_state(WHO, "sent", "failed", "uncertain")
    name = ended["relay_message_id"]
    return f"{_ended(ended)}, known to the relay as {name}; wire: {_wire(house)}"


def makes_no_sense(house: House) -> str:
    """A job that is wrong in three ways."""
    house.start()
    wrong: dict[str, Any] = {"to": ["not an address"], "subject": "a\r\nBcc: x@y.example"}
    said = _refusal(house, {**wrong, "nonsense": 1})
    jobs = len(house.client.jobs()["items"])
    return f"{said}, {jobs or 'no'} job; wire: {_dialled(house)}"


def is_refused(house: House) -> str:
    """A permanent refusal of the content."""
    house.door.on(Stage.DOT, Say("554 5.6.0 I can not read this"))
    house.start()
    house.hand_in(WHO)
    ended = house.await_state(WHO, "sent", "failed", "uncertain")
    house.ground.host.sleep(_SLACK_S)
    begun = len(house.door.begun_at_s)
    return f"{_ended(ended)}, {ended['reason_code']}; wire: MAIL {begun} time, {_wire(house)}"


def comes_twice(house: House) -> str:
    """Ten callers at once with one job, and the same call after a crash."""
    house.start()
    with ThreadPoolExecutor(_TWINS) as pool:
        answers = [pool.submit(house.hand_in, WHO) for _ in range(_TWINS)]
        twins = [one.result() or {} for one in answers]
    accepted = sum(one.get("deduplicated") is False for one in twins)
    told = sum(one.get("deduplicated") is True for one in twins)
    house.await_state(WHO, "sent", "failed", "uncertain")
    house.kill()
    house.start()
    again = house.hand_in(WHO) or {}
    house.await_state(WHO, "sent", "failed", "uncertain")
    house.ground.host.sleep(_SLACK_S)
    is_same = again.get("deduplicated") and {one.get("id") for one in twins} == {again["id"]}
    word = "the same" if is_same else "another"
    return (
        f"{accepted} accepted and {told} told of it, {word} job after kill -9; wire: {_wire(house)}"
    )


def lacks_its_file(house: House) -> str:
    """A file that is not there, and one that goes after it was accepted in its place."""
    house.start()
    report = house.ground.folder / f"{house.folder.name}.csv"
    files = [{"path": str(report), "pin": True}]
    said = _refusal(house, {"to": [WHO], "attachments": files})
    report.write_bytes(b"north,1200\n")
    house.hand_in(WHO, attachments=files, send_at=soon(house))
    report.unlink()
    ended = house.await_state(WHO, "sent", "failed", "uncertain")
    return f"{said}; pinned and gone: {ended['state']}, {ended['reason_code']}; wire: {_dialled(house)}"


def kills_its_daemon(house: House) -> str:
    """A mail at which the daemon dies, life after life; it is to blame, the others are not."""
    house.door.on(Stage.RCPT, Hold(), recipient=WHO)
    house.start()
    house.hand_in(WHO)
    for life in range(_LIVES):
        _bystander(house, life)
        house.until(lambda: house.door.count_held(Stage.RCPT, WHO), "the poison job's turn")
        house.kill()
        house.door.hang_up()
        house.until(lambda: not house.door.count_held(Stage.RCPT), "the end of its dialogue")
        house.start()
    _bystander(house, _LIVES)
    ended = house.await_state(WHO, "sent", "failed", "uncertain")
    others = [house.tell(_FINE.format(n=life)) for life in range(_LIVES + 1)]
    sent = others.count("sent, 1 copy")
    return f"{ended['state']}, {ended['reason_code']}, {_letters(house)}; others: {sent} of {len(others)} sent; wire: {_wire(house)}"


def is_restarted(house: House) -> str:
    """A restart while the answer to the final dot is awaited: by force, and in order."""
    house.door.on(Stage.DOT, Hold(), times=2)
    house.start()
    house.hand_in(WHO)
    house.until(lambda: house.door.count_held(Stage.DOT), "a final dot")
    house.kill()
    house.door.hang_up()
    house.start()
    other = _FINE.format(n=0)
    house.hand_in(other)
    house.until(lambda: house.door.count_held(Stage.DOT, other), "another final dot")
    house.terminate()
    house.until(lambda: '"daemon.draining"' in house.last_words(), "a drain")
    house.door.go_on()
    code = house.await_end()
    house.start()
    house.ground.host.sleep(_SLACK_S)
    waited = "waited for" if not code else f"ended with {code}"
    return (
        f"kill -9 at the dot: {house.tell(WHO)}; SIGTERM at the dot: {waited}, {house.tell(other)}"
    )


def leaves_doubt(house: House) -> str:
    """The relay takes the whole mail and hangs up."""
    house.door.on(Stage.DOT, HangUp(), times=1)
    house.start()
    house.hand_in(WHO)
    ended = house.await_state(WHO, "sent", "failed", "uncertain")
    letters = _letters(house)
    house.kill()
    house.start()
    house.ground.host.sleep(_SLACK_S)
    still = "still so" if house.tell(WHO).startswith(ended["state"]) else "no more so"
    return f"{ended['state']}, {letters}, {still} after kill -9; wire: {_wire(house)}"


def comes_in_a_burst(house: House) -> str:
    """Twenty mails for a mailbox that may begin five at once, and five a second."""
    house.start()
    to = [_FINE.format(n=n) for n in range(_BURST)]
    job: Any = house.hand_in(WHO, to=to, copies="individual")
    done = house.client.wait(job["id"])
    ends = {(one["state"], one["attempts"]) for one in done["deliveries"]}
    begun = house.door.begun_at_s
    is_paced = begun[-1] - begun[0] > _BURST_S - _SLACK_S
    sent = sum(house.door.copies(who) for who in to)
    end = f"{len(to)} sent at try 1" if ends == {("sent", 1)} else str(sorted(ends))
    return f"{end}, {'paced' if is_paced else 'not paced'}; wire: {copies(sent)}"


def _bystander(house: House, life: int) -> None:
    who = _FINE.format(n=life)
    house.hand_in(who)
    house.await_state(who, "sent")


def _refusal(house: House, fields: dict[str, Any]) -> str:
    try:
        house.client.submit({"mailbox_id": PLAIN, "subject": "s", "text": "t", **fields})
    except Invalid as refused:
        return f"refused at {', '.join(sorted(pointer for pointer, _ in refused.errors))}"
    return "accepted"


def _ended(delivery: dict[str, Any]) -> str:
    return f"{delivery['state']} at try {delivery['attempts']}"


def _letters(house: House) -> str:
    count = len(house.client.dead_letters()["items"])
    return "a dead letter" if count == 1 else f"{count} dead letters"


def _wire(house: House) -> str:
    return copies(house.door.copies(WHO))


def _dialled(house: House) -> str:
    return f"dialled {house.door.dialled} times" if house.door.dialled else "not dialled"
