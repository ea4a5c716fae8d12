"""The settings of the running daemon, read again for those who could write them anyway."""

from collections.abc import Iterable
from typing import Final

from postroom.api.problems import Code, Refusal
from postroom.api.requests import Reload
from postroom.api.routing import Answer, Call, Result, Route
from postroom.api.shapes import SettingFault
from postroom.api.shapes_daemon import Reloaded, SettingChange
from postroom.core.words import shown
from postroom.ports import reloading
from postroom.ports.errors import SettingProblem


_LONGEST: Final = 4_096  # characters; no path is longer


async def reload(call: Call[Reload, Reload]) -> Result:
    """Go on with the settings as they are written now. Who hangs up does not stop it."""
    parts = call.parts
    if not parts.is_operator(call.actor.uid):
        return Refusal(Code.NOT_ALLOWED, "The settings concern all mail.")
    is_dry_run = call.body.dry_run
    work = parts.reloads.reload(call.actor.by, is_dry_run=is_dry_run)
    match await parts.kept.finish(work):
        case reloading.Reloaded() as told:
            return Answer(_render(told, is_dry_run=is_dry_run))
        case reloading.NotReloaded(problems):
            detail = f"{len(problems)} wrong: nothing changed."
            return Refusal(Code.SETTINGS_WRONG, detail, more={"problems": _render_faults(problems)})
        case reloading.Draining():
            return Refusal(Code.DRAINING, "It reads no settings any more.")


def _render(told: reloading.Reloaded, *, is_dry_run: bool) -> Reloaded:
    return Reloaded(
        changed=_render_changes(told.changed),
        needs_restart=_render_changes(told.needs_restart),
        warnings=_render_faults(told.warnings),
        mailboxes=told.mailboxes,
        dry_run=is_dry_run,
    )


def _render_changes(changes: Iterable[reloading.SettingChange]) -> list[SettingChange]:
    return [
        SettingChange(path=one.path, kind=one.kind, before=one.before, after=one.after)
        for one in changes
    ]


def _render_faults(problems: Iterable[SettingProblem]) -> list[SettingFault]:
    """Names of files may be any bytes, which JSON can not hold."""
    return [
        SettingFault(
            file=shown(one.file, _LONGEST),
            key=one.key,
            wrong=shown(one.wrong, _LONGEST),
            fix=one.fix,
        )
        for one in problems
    ]


ROUTES: Final = (
    Route(
        "POST",
        "/reload",
        reload,
        "Read the settings again",
        {200: Reloaded},
        (Code.NOT_ALLOWED, Code.SETTINGS_WRONG),
        body=Reload,
        takes_work=True,
    ),
)
