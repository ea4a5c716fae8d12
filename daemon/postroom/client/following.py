"""The log as server-sent events, read for ever: a line that breaks is taken up again where it broke."""

import http.client
import json
from collections.abc import Iterator
from typing import Any, Final

from postroom.client.errors import TryLater, Unreachable
from postroom.client.host import Host
from postroom.client.wire import Call, Wire


_SILENT_S: Final = 45.0  # the daemon pings every 15 s
_AGAIN_S: Final = 0.5


def follow(wire: Wire, path: str, host: Host, retry_s: float) -> Iterator[dict[str, Any]]:
    """Events as they come. Raises what `Wire.open` raises, once the daemon has been away for `retry_s`."""
    last: str | None = None
    deadline_s = host.monotonic_s() + retry_s
    while True:
        headers = {} if last is None else {"Last-Event-ID": last}
        try:
            with wire.open(Call("GET", path, headers=headers, timeout_s=_SILENT_S)) as answer:
                for name, data in _blocks(answer):
                    deadline_s = host.monotonic_s() + retry_s
                    if name:
                        last = name
                        yield json.loads(data)
        except (Unreachable, TryLater):
            if host.monotonic_s() > deadline_s:
                raise
        except (OSError, http.client.HTTPException):
            pass
        host.sleep(_AGAIN_S)


def _blocks(answer: http.client.HTTPResponse) -> Iterator[tuple[str, str]]:
    """Id and data of each message; a message without an id has an empty one."""
    name, data = "", ""
    while line := answer.readline():
        field, _, value = line.decode().rstrip("\n").partition(":")
        value = value.removeprefix(" ")
        if field == "id":
            name = value
        elif field == "data":
            data = value
        elif not field and not value:
            yield name, data
            name, data = "", ""
