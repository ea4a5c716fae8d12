"""The log as server-sent events (WHATWG HTML §9.2): read from the store, never from memory alone.

`id` is the seq, so Last-Event-ID resumes exactly. A bell only says that it is worth while to read on. Whoever reads
too slowly is hung up on by the door and resumes. At drain the last word is `bye`.
"""

from collections.abc import AsyncIterator
from typing import Final

import msgspec

from postroom.api.parts import Parts
from postroom.api.render import render_event
from postroom.api.waiting import wait_for_bell
from postroom.ports.errors import StoreError


_PAGE: Final = 100
_HELLO: Final = b"retry: 2000\n\n"
_PING: Final = b": ping\n\n"
_BYE: Final = b"event: bye\ndata: {}\n\n"
_ENCODER: Final = msgspec.json.Encoder()


async def once(piece: bytes) -> AsyncIterator[bytes]:
    """A content that is one piece."""
    yield piece


async def stream(parts: Parts, log_id: str, after: int) -> AsyncIterator[bytes]:
    """What came after that seq, and all that comes; ends when the daemon stops or the store does not answer."""
    seq = after
    ping_s = parts.bounds.ping.total_seconds()
    yield _HELLO
    with parts.bells.hear_log() as bell:
        while not parts.stopping.is_set():
            bell.clear()
            try:
                found = await parts.reader.find_events(seq, _PAGE)
            except StoreError as error:
                parts.on_store_refused(error)
                return
            for one in found:
                data = _ENCODER.encode(render_event(one, log_id))
                yield b"id: %d\ndata: %b\n\n" % (one.seq, data)
                seq = one.seq
            if found:
                continue
            if not await wait_for_bell(bell, parts.stopping, ping_s):
                yield _PING
    yield _BYE
