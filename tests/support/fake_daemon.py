"""A small daemon on a Unix socket that answers as a test says, and remembers what it was asked."""

import json
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came in."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Say:
    """An answer; `body` is JSON unless it is bytes."""

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HangUp:
    """Read the request and close the connection without an answer."""


Line = Say | HangUp


def problem(status: int, code: str, detail: str, **more: Any) -> Say:
    """A problem document."""
    body = {"type": f"about:{code}", "title": code.replace("_", " "), "status": status}
    body |= {"detail": detail, "code": code, "fix": "Do it otherwise.", "retryable": False, **more}
    return Say(status, body)


class FakeDaemon:
    """`answers` maps "METHOD /path", or that with "?state=word", to a line, or to several that are said in turn; the last one stays."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self.answers: dict[str, list[Line]] = {}
        self.asked: list[Asked] = []
        self._server: _Server | None = None

    def on(self, call: str, *lines: Line | dict[str, Any]) -> None:
        """Answer this call so."""
        self.answers[call] = [Say(body=line) if isinstance(line, dict) else line for line in lines]

    def start(self) -> None:
        self._server = _Server(str(self.socket), _Handler)
        self._server.fake = self
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        self.socket.unlink(missing_ok=True)

    def line_for(self, asked: Asked) -> Line:
        self.asked.append(asked)
        call = f"{asked.method} {asked.path}"
        of_state = self.answers.get(f"{call}?state={asked.query.get('state')}")
        lines = of_state or self.answers.get(call)
        if not lines:
            return problem(404, "not_found", f"there is no {asked.path}")
        return lines.pop(0) if len(lines) > 1 else lines[0]


@contextmanager
def fake_daemon(folder: Path) -> Iterator[FakeDaemon]:
    """One that listens."""
    daemon = FakeDaemon(folder / "api.sock")
    daemon.start()
    try:
        yield daemon
    finally:
        daemon.stop()


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    fake: FakeDaemon

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its parent's name
        pass

    def _answer(self) -> None:
        line = self.server.fake.line_for(self._read())
        self.close_connection = True
        if isinstance(line, HangUp):
            return
        is_raw = isinstance(line.body, bytes)
        body = line.body if is_raw else json.dumps(line.body).encode()
        kind = "application/problem+json" if line.status >= 400 else "application/json"
        self.send_response(line.status)
        self.send_header("Content-Type", "message/rfc822" if is_raw else kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in line.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _read(self) -> Asked:
        split = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        if headers.get("transfer-encoding") == "chunked":
            body = b"".join(iter(self._chunk, b""))
        else:
            body = self.rfile.read(int(headers.get("content-length", "0")))
        return Asked(self.command, split.path, dict(parse_qsl(split.query)), headers, body)

    def _chunk(self) -> bytes:
        data = self.rfile.read(int(self.rfile.readline(), 16))
        self.rfile.readline()
        return data

    do_GET = do_POST = do_PATCH = do_DELETE = do_HEAD = _answer  # noqa: N815 - its parent's names
