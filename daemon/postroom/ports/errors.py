"""Our exceptions: what can not be expected as a value. Everything else is returned.

PostroomError
├── ConfigError            the settings are wrong; the daemon does not start (exit 78)
├── StateRefused           the state directory can not be used as it is; the daemon does not start (exit 78)
├── StoreError
│   ├── StoreUnavailable   nothing was stored; the same call may be made again (503)
│   ├── StorageFull        nothing was stored: the disk is full or below its reserve (507)
│   └── StoreBroken        the store can not be used any more; the daemon ends (exit 74)
├── BackupDamaged          a backup is not whole, or is none
├── AlreadyRunning         another daemon owns this state directory (exit 75)
├── ContentFault           a file of the message is gone, or not the one that the job named
└── RelayFault             a connection to a relay could not be made, or was lost
"""

from dataclasses import dataclass

from postroom.core.reason import ReasonCode
from postroom.core.reply import SmtpReply, Stage


class PostroomError(Exception):
    """Root of everything we raise; the text of the exception is its message."""


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """One thing that is wrong with the settings; `key` is dotted and may be empty, `wrong` and `fix` are sentences."""

    file: str
    key: str
    wrong: str
    fix: str

    @property
    def line(self) -> str:
        """All of it on one line."""
        where = f"{self.file}: {self.key}" if self.key else self.file
        return f"{where}: {self.wrong} {self.fix}".rstrip()


class ConfigError(PostroomError):
    """The settings are wrong: file, key, what is wrong and what to do, one line for each of `problems`."""

    def __init__(self, *problems: SettingProblem) -> None:
        super().__init__("\n".join(problem.line for problem in problems))
        self.problems = problems


class StateRefused(PostroomError):
    """The state directory or its database can not be used as it is: what is wrong and what to do."""


class StoreError(PostroomError):
    """The store said no."""


class StoreUnavailable(StoreError):
    """Nothing was stored; try again."""


class StorageFull(StoreError):
    """Nothing was stored: free some disk space."""


class StoreBroken(StoreError):
    """The store can not be trusted with another write by this process."""


class BackupDamaged(PostroomError):
    """A backup is not whole, or is none: nothing was put in place."""


class AlreadyRunning(PostroomError):
    """Another daemon owns this state directory."""


class ContentFault(PostroomError):
    """A file of the message can not be sent: `reason` is attachment_missing or attachment_changed."""

    def __init__(self, reason: ReasonCode, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class RelayFault(PostroomError):
    """The connection failed at `stage`; `reply` is what the server said, when it said anything.

    `detail` is one safe line for people.
    """

    def __init__(self, stage: Stage, detail: str, reply: SmtpReply | None = None) -> None:
        super().__init__(f"{stage}: {detail}")
        self.stage = stage
        self.detail = detail
        self.reply = reply
