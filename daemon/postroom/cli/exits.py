"""Exit codes (sysexits.h), and which of them an error comes to."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from postroom.client.errors import (
    Broken,
    Conflict,
    Denied,
    Invalid,
    NotFound,
    NotUnderstood,
    PostroomError,
    TryLater,
    Unreachable,
)


class Exit(IntEnum):
    """How a verb ended; scripts rely on it."""

    OK = 0
    FOUND = 1  # dead-letters: there are some; what backup and doctor found
    USAGE = 64
    BAD_DATA = 65
    NO_INPUT = 66
    NO_MAILBOX = 67
    REFUSED = 69
    BUG = 70
    IO = 74
    TRY_LATER = 75
    PROTOCOL = 76
    NOT_ALLOWED = 77
    CONFIG = 78
    INTERRUPTED = 130


class Ended(PostroomError):
    """A verb ends, for a reason in words of its own: `code` is the word for programs, `fix` what to do about it."""

    def __init__(self, detail: str, *, exit_code: Exit, code: str, fix: str = "") -> None:
        super().__init__(detail)
        self.exit_code = exit_code
        self.code = code
        self.fix = fix


# docs/operating.md is held against it by a test.
MEANINGS: Final[Mapping[Exit, str]] = {
    Exit.OK: "done",
    Exit.FOUND: "found: dead letters, missing files (`backup`), what fails (`doctor`, `selftest`)",
    Exit.USAGE: "wrong usage",
    Exit.BAD_DATA: "the daemon found the request wrong; a backup is not whole",
    Exit.NO_INPUT: "a file can not be read",
    Exit.NO_MAILBOX: "there is no such mailbox",
    Exit.REFUSED: "refused, or there is no job, delivery, event or conversation of this id; with `--wait`: it ended unsent",
    Exit.BUG: "a bug: of the command, or of the daemon",
    Exit.IO: "reading or writing failed",
    Exit.TRY_LATER: "try again later; with `--wait`: still under way, or in doubt",
    Exit.PROTOCOL: "something answered, but not as a daemon of Postroom",
    Exit.NOT_ALLOWED: "not allowed: this user may not open the socket",
    Exit.CONFIG: "the settings are wrong; `restore`: a store is there, or it can not be used",
    Exit.INTERRUPTED: "interrupted",
}

_BY_KIND: Final[tuple[tuple[type[PostroomError], Exit], ...]] = (
    (Invalid, Exit.BAD_DATA),
    (Denied, Exit.NOT_ALLOWED),
    (NotFound, Exit.REFUSED),
    (Conflict, Exit.REFUSED),
    (TryLater, Exit.TRY_LATER),
    (Unreachable, Exit.TRY_LATER),
    (NotUnderstood, Exit.PROTOCOL),
    (Broken, Exit.BUG),
)


def exit_for(error: PostroomError) -> Exit:
    """The code for an error of the client."""
    if isinstance(error, Ended):
        return error.exit_code
    if isinstance(error, Invalid) and any(where == "/mailbox_id" for where, _ in error.errors):
        return Exit.NO_MAILBOX
    if isinstance(error, Unreachable) and error.is_forbidden:
        return Exit.NOT_ALLOWED
    return next((code for kind, code in _BY_KIND if isinstance(error, kind)), Exit.REFUSED)
