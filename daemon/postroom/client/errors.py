"""What the client raises. The text of each says what happened and what to do.

PostroomError
├── Unreachable      no daemon answered at the socket, or its answer was lost
├── NotUnderstood    something answered, but not as the contract says
└── Problem          the daemon answered with a problem document (RFC 9457), kept in `problem`
    ├── Refused      it can not be done as asked; the same call will be refused again
    │   ├── Invalid      400, 413, 422: something is wrong with the request; `errors` says where
    │   ├── Denied       401, 403
    │   ├── NotFound     404
    │   ├── Conflict     409: not in this state
    │   └── Gone         410: that part of the log is no longer there
    ├── TryLater     408, 429, 503, 507: nothing was accepted; the same call may be made again
    └── Broken       any other answer: a fault of the daemon
"""

from typing import Any


class PostroomError(Exception):
    """Root of everything the client raises.

    `idempotency_key` is the key of the job that was being handed over, so that it can be handed over again safely.
    """

    idempotency_key: str | None = None


class Unreachable(PostroomError):
    """No daemon answered. `is_answer_lost`: the request went out, so it may have been carried out."""

    def __init__(self, detail: str, *, is_answer_lost: bool, is_forbidden: bool = False) -> None:
        super().__init__(detail)
        self.is_answer_lost = is_answer_lost
        self.is_forbidden = is_forbidden


class NotUnderstood(PostroomError):
    """The answer is not what the contract says: probably something else listens at this socket."""


class Problem(PostroomError):
    """The daemon said no; `problem` is its whole document."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.problem = problem
        super().__init__(self._text())

    @property
    def code(self) -> str:
        """The stable code of the problem, such as `idempotency_key_reuse`."""
        return str(self.problem.get("code") or "unknown")

    @property
    def fix(self) -> str:
        """What to do about it."""
        return str(self.problem.get("fix") or "")

    @property
    def errors(self) -> tuple[tuple[str, str], ...]:
        """Everything wrong with the request: JSON pointer and sentence."""
        found = self.problem.get("errors")
        rows = found if isinstance(found, list) else []
        return tuple(
            (str(row.get("pointer", "")), str(row.get("detail", "")))
            for row in rows
            if isinstance(row, dict)
        )

    def _text(self) -> str:
        said = str(
            self.problem.get("detail") or self.problem.get("title") or f"answer {self.status}"
        )
        lines = [f"{pointer}: {detail}" for pointer, detail in self.errors]
        is_repeated = any(detail in said for _, detail in self.errors)
        return "; ".join(lines if is_repeated else [said, *lines])


class Refused(Problem):
    """It can not be done as asked."""


class Invalid(Refused):
    """Something is wrong with the request; `errors` says what and where."""


class Denied(Refused):
    """The caller may not do this."""


class NotFound(Refused):
    """There is no such thing."""


class Conflict(Refused):
    """It is not in a state in which this can be done."""


class Gone(Refused):
    """That part of the log is no longer there."""


class TryLater(Problem):
    """Nothing was accepted; the same call may be made again."""


class Broken(Problem):
    """A fault of the daemon."""


_CLASSES: dict[int, type[Problem]] = {
    400: Invalid,
    401: Denied,
    403: Denied,
    404: NotFound,
    408: TryLater,
    409: Conflict,
    410: Gone,
    413: Invalid,
    422: Invalid,
    429: TryLater,
    503: TryLater,
    507: TryLater,
}


def problem_for(status: int, problem: dict[str, Any]) -> Problem:
    """The exception for an answer with this status."""
    fallback = Refused if 400 <= status < 500 else Broken  # noqa: PLR2004 - RFC 9110 §15
    return _CLASSES.get(status, fallback)(status, problem)
