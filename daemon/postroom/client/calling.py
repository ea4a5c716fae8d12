"""How the client calls: one way to the daemon, shared by everything that can be asked."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from postroom.client.asking import Filter, query
from postroom.client.host import Host
from postroom.client.wire import Call, Tried, Wire


Json = dict[str, Any]

POLL_S: Final = 20.0  # one long poll
MARGIN_S: Final = 15.0  # what a busy daemon may take beyond that
QUICK_S: Final = 0.2  # a draining daemon answers long polls at once: do not ask it in a tight loop


class Calling:
    """One daemon, at `socket`."""

    def __init__(
        self,
        socket: str,
        timeout_s: float,
        retry_s: float,
        host: Host,
        hear: Callable[[Tried], None] | None,
    ) -> None:
        self.socket = socket
        self._timeout_s = timeout_s
        self._retry_s = retry_s
        self._host = host
        self._wire = Wire(socket, retry_s, host, hear)

    def _with_key(self, job: Mapping[str, Any]) -> Json:
        key = job.get("idempotency_key") or self._host.mint_key()
        return {**job, "idempotency_key": key}

    def _get(
        self, path: str, filters: Mapping[str, Filter] | None = None, *, timeout_s: float = 0
    ) -> Json:
        wait_s = timeout_s or self._timeout_s
        return self._wire.call(Call("GET", path + query(filters or {}), timeout_s=wait_s)).object()

    def _post(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        is_repeatable: bool = True,
        timeout_s: float = 0,
        method: str = "POST",
    ) -> Json:
        call = Call(
            method,
            path,
            body=None if not body else json.dumps(body).encode(),
            headers={} if not body else {"Content-Type": "application/json"},
            is_repeatable=is_repeatable,
            timeout_s=timeout_s or self._timeout_s,
        )
        return self._wire.call(call).object()
