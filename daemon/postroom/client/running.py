"""What concerns the daemon as a whole: a backup of it, its settings, its clock, what it holds back."""

import http.client
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from postroom.client.calling import Calling, Json
from postroom.client.errors import Unreachable
from postroom.client.wire import Call


_BACKUP_S: Final = 3600.0  # a database of many gigabytes is copied before the first byte comes


class BackupStream:
    """A backup as it comes: one tar, of about `expected_bytes`."""

    def __init__(self, response: http.client.HTTPResponse, socket: str) -> None:
        self._response = response
        self._socket = socket
        self.expected_bytes = int(response.headers.get("X-Postroom-Expected-Bytes") or 0)

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at its end.

        Raises: Unreachable when it broke off: what was read is no backup.
        """
        try:
            return self._response.read(size)
        except (OSError, http.client.HTTPException) as fault:
            raise _broken_off(self._socket, fault) from fault


class Running(Calling):
    """The daemon as a whole."""

    @contextmanager
    def backup(self) -> Iterator[BackupStream]:
        """A backup of everything, for root and the daemon's own user; tried once."""
        call = Call("POST", "/v1/backup", timeout_s=_BACKUP_S)
        with ExitStack() as stack:
            try:
                response = stack.enter_context(self._wire.open(call))
            except (OSError, http.client.HTTPException) as fault:
                raise _broken_off(self.socket, fault) from fault
            yield BackupStream(response, self.socket)

    def reload(self, *, dry_run: bool = False) -> Json:
        """Have the settings read again: what changed, and what needs a restart. For root and the daemon's own user.

        Raises: Invalid with the code `settings_wrong`; `problem["problems"]` says what, and nothing changed.
        """
        return self._post("/v1/reload", {"dry_run": dry_run})

    def holds(self) -> Json:
        """How many deliveries are held, by mailbox and reason."""
        return self._get("/v1/holds")

    def clock(self) -> Json:
        """What time it is for the daemon, and whether it believes that."""
        return self._get("/v1/clock")

    def confirm_clock(self) -> Json:
        """Say that the daemon's clock is right."""
        return self._post("/v1/clock/confirm")


def _broken_off(socket: str, fault: Exception) -> Unreachable:
    detail = f"the backup broke off ({type(fault).__name__}): {socket}"
    return Unreachable(detail, is_answer_lost=True)
