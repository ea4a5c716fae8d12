"""Reading the settings again while the daemon runs, as the API sees it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from postroom.ports.errors import SettingProblem


class ChangeKind(StrEnum):
    """What became of a setting, or of a whole mailbox or relay."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that is another one, `path` dotted as in the files; `before` and `after` for people.

    Both are None for a secret; one is None where there was, or is, nothing. A mailbox or relay that is added or removed
    is told by its address or host.
    """

    path: str
    kind: ChangeKind
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What is in force now (`changed`), and what will be after a restart. `warnings` are no reason not to go on."""

    changed: tuple[SettingChange, ...]
    needs_restart: tuple[SettingChange, ...]
    warnings: tuple[SettingProblem, ...]
    mailboxes: int


@dataclass(frozen=True, slots=True)
class NotReloaded:
    """The settings are wrong: nothing changed."""

    problems: tuple[SettingProblem, ...]


class Draining:
    """The daemon stops: it reads nothing any more."""


class Reloads(Protocol):
    """Reads the settings again, once at a time."""

    async def reload(self, by: str, *, is_dry_run: bool) -> Reloaded | NotReloaded | Draining:
        """Go on with the settings as they are written now; `is_dry_run`: only say what would change.

        Raises: StoreError: nothing changed.
        """
        ...
