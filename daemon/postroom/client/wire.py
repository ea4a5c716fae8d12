"""One call over the Unix socket: tried until it is answered, its time is over, or trying again would not be safe.

Rules: a connection that could not be made is tried again, whatever the call; an answer that was lost only where the
call may be repeated; 429, 503 and 507 after what they ask for, since nothing was accepted. Every try has its own
connection, so a client may be shared by threads and never meets a connection that a restarted daemon has forgotten.
"""

import http.client
import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from postroom.client.errors import NotUnderstood, TryLater, Unreachable, problem_for
from postroom.client.host import Host


_WAITING: Final = frozenset({429, 503, 507})  # the contract: nothing was accepted, try again
_FIRST_WAIT_S: Final = 0.05  # a restarting daemon is back in well under a second …
_LONGEST_WAIT_S: Final = 2.0  # … and a broken one is not hammered
_BLOCK: Final = 256 * 1024
_PROBLEM_TEXT: Final = 500


@dataclass(frozen=True, slots=True)
class Call:
    """A request. `timeout_s` bounds every wait on the socket; `stream` is sent from where it stands now."""

    method: str
    path: str
    body: bytes | None = None
    stream: BinaryIO | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_repeatable: bool = True
    timeout_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def object(self) -> dict[str, Any]:
        """The body as a JSON object; `{}` where there is none, and a list as its `items`."""
        try:
            found = json.loads(self.body or b"{}")
        except ValueError as problem:
            detail = f"the answer ({self.status}) is not JSON: is this the socket of Postroom?"
            raise NotUnderstood(detail) from problem
        return found if isinstance(found, dict) else {"items": found}


@dataclass(frozen=True, slots=True)
class Tried:
    """A try of a call: the status of its answer, or why there was none, and how long that took."""

    method: str
    path: str
    status: int | None
    fault: str | None
    took_s: float


class Wire:
    """The way to one daemon; `retry_s` bounds how long a call goes on trying, `hear` is told of every try."""

    def __init__(
        self, path: str, retry_s: float, host: Host, hear: Callable[[Tried], None] | None = None
    ) -> None:
        self.path = path
        self._retry_s = retry_s
        self._host = host
        self._hear = hear

    def call(self, call: Call) -> Answer:
        """The answer, with a status below 400.

        Raises: Unreachable, NotUnderstood, or the Problem that the daemon answered.
        """
        deadline_s = self._host.monotonic_s() + self._retry_s
        stream = call.stream
        start = stream.tell() if stream is not None and stream.seekable() else None
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                return self._once(call)
            except (Unreachable, TryLater) as fault:
                asked_s = max(wait_s, _asked_wait_s(fault))
                is_late = self._host.monotonic_s() + asked_s > deadline_s
                is_used_up = stream is not None and start is None
                if is_late or is_used_up or not _may_again(call, fault):
                    raise
            self._host.sleep(asked_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
            if stream is not None and start is not None:
                stream.seek(start)

    @contextmanager
    def open(self, call: Call) -> Iterator[http.client.HTTPResponse]:
        """The answer while it comes; tried once. Reading it raises OSError or HTTPException.

        Raises: as `call`.
        """
        started_s = self._host.monotonic_s()
        connection = self._connected(call)
        try:
            connection.request(call.method, call.path, headers=dict(call.headers))
            response = connection.getresponse()
            self._tell(call, started_s, status=response.status)
            if response.status >= http.client.BAD_REQUEST:
                answer = Answer(response.status, dict(response.getheaders()), response.read())
                raise problem_for(answer.status, _problem_of(answer))
            yield response
        finally:
            connection.close()

    def _connected(self, call: Call) -> http.client.HTTPConnection:
        started_s = self._host.monotonic_s()
        try:
            return _connect(self.path, call.timeout_s)
        except OSError as fault:
            unreachable = _no_daemon(self.path, fault)
            self._tell(call, started_s, fault=str(unreachable))
            raise unreachable from fault

    def _once(self, call: Call) -> Answer:
        started_s = self._host.monotonic_s()
        connection = self._connected(call)
        try:
            answer = _exchange(connection, call)
        except (OSError, http.client.HTTPException) as fault:
            detail = f"the answer was lost ({type(fault).__name__}): {self.path}"
            self._tell(call, started_s, fault=detail)
            raise Unreachable(detail, is_answer_lost=True) from fault
        finally:
            connection.close()
        self._tell(call, started_s, status=answer.status)
        if answer.status < http.client.BAD_REQUEST:
            return answer
        raise problem_for(answer.status, _problem_of(answer))

    def _tell(
        self, call: Call, started_s: float, *, status: int | None = None, fault: str | None = None
    ) -> None:
        if self._hear is not None:
            took_s = self._host.monotonic_s() - started_s
            self._hear(Tried(call.method, call.path, status, fault, took_s))


def _connect(path: str, timeout_s: float) -> http.client.HTTPConnection:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout_s)
        sock.connect(path)
    except OSError:
        sock.close()
        raise
    connection = http.client.HTTPConnection("localhost", timeout=timeout_s, blocksize=_BLOCK)
    connection.sock = sock
    return connection


def _exchange(connection: http.client.HTTPConnection, call: Call) -> Answer:
    try:
        connection.request(call.method, call.path, call.body or call.stream, dict(call.headers))
    except (BrokenPipeError, ConnectionResetError):
        # a daemon may refuse a body before it has read it all: its answer says why
        response = connection.getresponse()
    else:
        response = connection.getresponse()
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, response.read())


def _problem_of(answer: Answer) -> dict[str, Any]:
    try:
        found = json.loads(answer.body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        text = answer.body[:_PROBLEM_TEXT].decode("utf-8", "replace")
        found = {"title": f"answer {answer.status}", "detail": text or None}
    if "retry_after_s" not in found and "retry-after" in answer.headers:
        found["retry_after_s"] = answer.headers["retry-after"]
    return found


def _may_again(call: Call, fault: Unreachable | TryLater) -> bool:
    if isinstance(fault, TryLater):
        return fault.status in _WAITING
    return not fault.is_forbidden and (call.is_repeatable or not fault.is_answer_lost)


def _asked_wait_s(fault: Unreachable | TryLater) -> float:
    if isinstance(fault, Unreachable):
        return 0.0
    try:
        return float(fault.problem.get("retry_after_s") or 0)
    except (TypeError, ValueError):
        return 0.0


def _no_daemon(path: str, fault: OSError) -> Unreachable:
    match fault:
        case PermissionError():
            detail = (
                f"no access to the socket {path}: join the group that owns it (postroom-clients)"
            )
        case FileNotFoundError():
            detail = f"no daemon: there is no socket {path}"
        case ConnectionRefusedError():
            detail = f"no daemon: nobody listens at {path}"
        case _:
            detail = f"no daemon at {path}: {fault}"
    return Unreachable(
        detail, is_answer_lost=False, is_forbidden=isinstance(fault, PermissionError)
    )
