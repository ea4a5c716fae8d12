"""Having the running daemon read its settings again: reload."""

from typing import Final

import click

from postroom.cli.desk import Desk, at_desk
from postroom.cli.exits import Exit
from postroom.cli.paper import (
    Column,
    Json,
    column,
    data,
    emit,
    plain,
    plain_text,
    table,
    talk,
    warn,
)
from postroom.client.errors import Invalid


_WRONG: Final = "settings_wrong"
_MAILBOX: Final = "mailbox."
_WAITS: Final = ("pending", "retry_scheduled")
_CHANGES: Final = (
    column("SETTING", "path"),
    column("CHANGE", "kind"),
    column("WAS", "before"),
    column("IS", "after"),
    Column("COUNTS", lambda row: row["counts"]),
)


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@at_desk()
def reload(desk: Desk, *, dry_run: bool) -> int:
    """Have the daemon read its settings again; says what changed.

    For root and the daemon's own user. Exits 78 when the settings are wrong: then nothing changes. What needs a restart
    is said, and counts after one.
    """
    try:
        found = desk.client.reload(dry_run=dry_run)
    except Invalid as error:
        if error.code != _WRONG:
            raise
        return _tell_wrong(desk, error.problem.get("problems") or [])
    if desk.is_json:
        emit(found)
    else:
        _tell(desk, found, is_dry_run=dry_run)
    return Exit.OK


def _tell(desk: Desk, found: Json, *, is_dry_run: bool) -> None:
    rows = [one | {"counts": "now"} for one in found["changed"]]
    rows += [one | {"counts": "after a restart"} for one in found["needs_restart"]]
    for warning in found["warnings"]:
        warn(plain_text(f"warning: {_line(warning)}"))
    if rows:
        table(rows, _CHANGES)
    if is_dry_run:
        _tell_holds(desk, found["changed"])
        talk("Nothing was changed: this is what a reload would do.")
    elif not rows:
        data("The settings are read again; all of them are as before.")
    if found["needs_restart"] and not is_dry_run:
        talk("What counts after a restart: systemctl restart postroom.")


def _tell_holds(desk: Desk, changed: list[Json]) -> None:
    """What would be held: all that waits in mailboxes that leave."""
    known = {one["id"] for one in desk.client.mailboxes()["items"]}
    gone = [one["path"].removeprefix(_MAILBOX) for one in changed if one["kind"] == "removed"]
    for mailbox_id in [one for one in gone if one in known]:
        lanes = desk.client.waiting(mailbox_id=mailbox_id)["items"]
        count = sum(lane["depth"].get(state, 0) for lane in lanes for state in _WAITS)
        if count:
            told = f"{mailbox_id}: {count:,} of its deliveries wait and would be held until it is back."
            data(plain(told))


def _tell_wrong(desk: Desk, problems: list[Json]) -> int:
    if desk.is_json:
        emit({"ok": False, "problems": problems})
    else:
        warn("postroom: the settings are wrong; the daemon goes on with those that it has:")
        for problem in problems:
            warn(plain_text(_line(problem)))
    return Exit.CONFIG


def _line(problem: Json) -> str:
    """As `config check` says it."""
    where = f"{problem['file']}: {problem['key']}" if problem["key"] else problem["file"]
    return f"{where}: {problem['wrong']} {problem['fix']}".rstrip()
