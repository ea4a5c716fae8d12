"""The commit points of what people change by hand."""

import io
from typing import Any, Final

from postroom.ops.host import SystemClock
from postroom.selftest.door import Say, Stage
from postroom.selftest.house import PLAIN, House, Json
from postroom.selftest.play import WHO, Moment, Play, fate, hand_in, later, nothing, reply_address
from postroom.selftest.plays_out import in_doubt
from postroom.service.restoring import Backup, restore


GONE: Final = "gone"  # a mailbox that the settings lose

_OF_PLAIN: Final = {"mailbox_id": PLAIN}
_FILE: Final = b"staged"
_PIECE: Final = 1 << 16
_ROBOT: Final = "robot@machines.example"
_ROUNDS: Final = 6  # more than five of its mails within ten minutes
_AUTOMATIC: Final = """\
From: Robot <robot@machines.example>
Subject: We have got your message {n}
Date: Mon, 30 Nov 2026 09:00:0{n} +0000
Message-ID: <robot-{n}@machines.example>
Auto-Submitted: auto-replied

We have got your message {n}.
"""


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
    return f"{box['state']}: {fate(house)}"


def _robots(house: House) -> None:
    """Two machines answer each other until their conversation is held; then a job goes into it."""
    thread: Json = {}
    for number in range(_ROUNDS):
        key = f"round {number}"
        job: Any = house.hand_in(_ROBOT, idempotency_key=key, **thread)
        house.client.wait(job["id"])
        thread = {"thread_id": job["deliveries"][0]["thread_id"]}
        house.mail(reply_address(house.copy_for(_ROBOT)), _AUTOMATIC.format(n=number), _ROBOT)
        house.await_events(number + 1, "auto_reply.received")
    house.memo.update(thread)
    house.hand_in(WHO, **thread)
    house.await_state(WHO, "held")


def _free_thread(house: House) -> None:
    house.client.resume_thread(house.memo["thread_id"])


def _restored(house: House) -> None:
    """A job waits in a store that was put back from its own backup: it is held."""
    house.start()
    _paused(house)
    backup, state = house.folder / "backup", house.folder / "state"
    with house.client.backup() as stream, backup.open("xb") as file:
        while piece := stream.read(_PIECE):
            file.write(piece)
    house.kill()
    with backup.open("rb") as file:
        restore(Backup(file, None), state, SystemClock().now(), replaces=True)


def _held(house: House) -> None:
    _resume(house)
    house.await_state(WHO, "held")


def _release(house: House) -> None:
    house.client.release_held(_delivery(house))


def _release_all(house: House) -> None:
    house.client.act("release", _OF_PLAIN)


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


def _lose_mailbox_at_work(house: House) -> None:
    _lose_mailbox(house)
    house.client.reload()


def _hold_and_fate(house: House) -> str:
    found = house.find_delivery(WHO)
    return f"{found and found['hold_reason']}: {house.tell(WHO, GONE)}"


def _owned(house: House) -> None:
    """Somebody owns the mailbox from the next life on."""
    house.boxes[PLAIN] += '\nowner = "ops@peer.example"'
    house.settle_in()


_PENDING: Final = "pending, 0 copies"
_CANCELLED: Final = "cancelled, 0 copies"
_HELD: Final = "held, 0 copies"
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
    Play("admin.resume_thread", _HELD, _SENT, _free_thread, fate, _robots),
    Play("inbox.settle_holds", _HELD, _HELD, nothing, fate, _robots, Moment.AT_A_RESTART),
    Play("admin.release", _HELD, _SENT, _release, fate, _held, ancestry=_restored),
    Play(
        "admin.release_deliveries",
        _HELD,
        _SENT,
        _release_all,
        fate,
        _held,
        ancestry=_restored,
    ),
    Play(
        "digests.note",
        _SENT,
        _SENT,
        _owned,
        fate,
        hand_in,
        Moment.AT_A_RESTART,
    ),
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
    *(
        Play(
            point,
            "mailbox_removed: held, 0 copies",
            "mailbox_removed: held, 0 copies",
            _lose_mailbox_at_work,
            _hold_and_fate,
            _job_of_a_mailbox_that_goes,
        )
        for point in ("admin.note_mailboxes", "admin.settle_mailbox")
    ),
)
