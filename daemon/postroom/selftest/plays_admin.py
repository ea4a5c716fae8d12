"""The commit points of what people change by hand."""

import io
from typing import Any, Final

from postroom.selftest.door import Say, Stage
from postroom.selftest.house import PLAIN, House
from postroom.selftest.play import WHO, Moment, Play, fate, later
from postroom.selftest.plays_out import in_doubt


GONE: Final = "gone"  # a mailbox that the settings lose

_OF_PLAIN: Final = {"mailbox_id": PLAIN}
_FILE: Final = b"staged"


def _waiting(house: House) -> None:
    house.hand_in(WHO, send_at=later(house))


def _job(house: House) -> str:
    job = house.find_job(WHO)
    return str(job and job["id"])


def _delivery(house: House) -> str:
    found = house.find_delivery(WHO)
    return str(found and found["id"])


def _failed(house: House) -> None:
    house.door.on(Stage.RCPT, Say("550 5.1.1 User unknown"), recipient=WHO, times=1)
    house.hand_in(WHO)
    house.await_state(WHO, "failed")


def _cancel_job(house: House) -> None:
    house.client.cancel(_job(house))


def _cancel_all(house: House) -> None:
    house.client.act("cancel", _OF_PLAIN)


def _reschedule(house: House) -> None:
    house.client.reschedule(_job(house), "2026-01-01T00:00:00Z")


def _retry(house: House) -> None:
    house.client.retry(_delivery(house))


def _retry_all(house: House) -> None:
    house.client.act("retry", _OF_PLAIN)


def _resolve(house: House) -> None:
    house.client.resolve(_delivery(house), "sent")


def _resolve_all(house: House) -> None:
    house.client.act("resolve", _OF_PLAIN, verdict="failed")


def _pause(house: House) -> None:
    house.client.pause(PLAIN)


def _paused(house: House) -> None:
    house.client.pause(PLAIN)
    house.hand_in(WHO)


def _resume(house: House) -> None:
    house.client.resume(PLAIN)


def _pause_and_fate(house: House) -> str:
    house.hand_in(WHO)
    (box,) = (one for one in house.client.mailboxes()["items"] if one["id"] == PLAIN)
    return f"{'paused' if box['pause'] else 'active'}: {fate(house)}"


def _sent(house: House) -> None:
    house.hand_in(WHO)
    house.await_state(WHO, "sent")


def _free_thread(house: House) -> None:
    found: Any = house.find_delivery(WHO)
    house.client.resume_thread(found["thread_id"])


def _suppress(house: House) -> None:
    house.client.suppress(WHO, mailbox_id=PLAIN)


def _unsuppress(house: House) -> None:
    house.client.unsuppress(WHO, mailbox_id=PLAIN)


def _fate_of_a_new_job(house: House) -> str:
    house.hand_in(WHO)
    return fate(house)


def _stage(house: House) -> None:
    house.client.stage(io.BytesIO(_FILE), filename="a.txt")


def _file_that_is_staged_again(house: House) -> str:
    ref = house.memo.setdefault("ref", house.client.stage(io.BytesIO(_FILE), filename="a.txt"))
    house.hand_in(WHO, attachments=[{"ref": ref["ref"]}])
    return fate(house)


def _lose_mailbox(house: House) -> None:
    house.settle_in(GONE)


def _job_of_a_mailbox_that_goes(house: House) -> None:
    house.hand_in(WHO, box=GONE, send_at=later(house))


def _hold_and_fate(house: House) -> str:
    found = house.find_delivery(WHO)
    return f"{found and found['hold_reason']}: {house.tell(WHO, GONE)}"


_PENDING: Final = "pending, 0 copies"
_CANCELLED: Final = "cancelled, 0 copies"
_SENT: Final = "sent, 1 copy"
_FAILED: Final = "failed, 0 copies"
_DOUBT: Final = "uncertain, 1 copy"
_SUPPRESSED: Final = "failed, 0 copies"

PLAYS: Final = (
    Play("admin.cancel_job", _PENDING, _CANCELLED, _cancel_job, fate, _waiting),
    Play("admin.cancel_deliveries", _PENDING, _CANCELLED, _cancel_all, fate, _waiting),
    Play("admin.reschedule_job", _PENDING, _SENT, _reschedule, fate, _waiting),
    Play("admin.retry", _FAILED, _SENT, _retry, fate, _failed),
    Play("admin.retry_deliveries", _FAILED, _SENT, _retry_all, fate, _failed),
    Play("admin.resolve", _DOUBT, _SENT, _resolve, fate, in_doubt),
    Play("admin.resolve_deliveries", _DOUBT, "failed, 1 copy", _resolve_all, fate, in_doubt),
    Play("admin.pause", "active: sent, 1 copy", f"paused: {_PENDING}", _pause, _pause_and_fate),
    Play(
        "admin.resume",
        f"paused: {_PENDING}",
        "active: sent, 1 copy",
        _resume,
        _pause_and_fate,
        _paused,
    ),
    Play("admin.resume_thread", _SENT, _SENT, _free_thread, fate, _sent),
    Play("admin.suppress", _SENT, _SUPPRESSED, _suppress, _fate_of_a_new_job),
    Play("admin.unsuppress", _SUPPRESSED, _SENT, _unsuppress, _fate_of_a_new_job, _suppress),
    Play("admin.stage", _SENT, _SENT, _stage, _file_that_is_staged_again),
    Play(
        "admin.hold_missing_mailboxes",
        "mailbox_removed: held, 0 copies",
        "mailbox_removed: held, 0 copies",
        _lose_mailbox,
        _hold_and_fate,
        _job_of_a_mailbox_that_goes,
        Moment.AT_A_RESTART,
    ),
)
