"""Looking at everything that has to be right: doctor."""

from pathlib import Path
from typing import Any, Final

import click

from postroom.cli.desk import DEFAULT_CONFIG, Desk, at_desk
from postroom.cli.exits import Exit
from postroom.cli.paper import Json, column, emit, plain, table, talk
from postroom.client.errors import PostroomError


_LINES: Final = (
    column("CHECK", "check"),
    column("RESULT", "result"),
    column("DETAIL", "detail"),
    column("WHAT TO DO", "fix"),
)


@click.command()
@click.option("--confirm-clock", is_flag=True, help="Tell the daemon that its clock is right.")
@at_desk(retry_s=0)
def doctor(desk: Desk, *, confirm_clock: bool) -> int:
    """Look at everything that has to be right; nothing is sent.

    Works while the daemon runs and while it does not. Exits 1 when something fails.
    """
    if confirm_clock:
        return _confirm(desk)
    found = _examine(desk)
    has_failed = any(one["result"] == "fail" for one in found)
    if desk.is_json:
        emit({"ok": not has_failed, "checks": found})
    else:
        table(found, _LINES, is_whole=True)
    return Exit.FOUND if has_failed else Exit.OK


def _confirm(desk: Desk) -> int:
    answer = desk.client.confirm_clock()
    if desk.is_json:
        emit(answer)
    else:
        talk(f"The daemon believes its clock: {plain(answer['at'])}.")
    return Exit.OK


def _examine(desk: Desk) -> list[Json]:
    # What the daemon is made of is imported only here: every other verb starts without it.
    from postroom.ops.host import SystemClock  # noqa: PLC0415
    from postroom.service.doctor import Patient, examine  # noqa: PLC0415

    named = desk.config or Path(DEFAULT_CONFIG)
    patient = Patient(named, Path(desk.client.socket), _running(desk), SystemClock().now())
    return [
        {"check": one.check, "result": str(one.verdict), "detail": one.detail, "fix": one.fix}
        for one in examine(patient)
    ]


def _running(desk: Desk) -> Any:
    from postroom.service.doctor import Running  # noqa: PLC0415 - see above

    try:
        version = desk.client.version()["version"]
        return Running(
            version=version,
            is_ready=desk.client.is_ready(),
            is_clock_doubted=bool(desk.client.clock()["is_doubted"]),
            ask=lambda mailbox_id: _tried(desk, mailbox_id),
        )
    except PostroomError:
        return None


def _tried(desk: Desk, mailbox_id: str) -> list[tuple[str, str, str, str]]:
    found = desk.client.check(mailbox_id)["checks"]
    return [(one["step"], one["result"], one["detail"], one["fix"]) for one in found]
