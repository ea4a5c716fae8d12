"""What the API talks to: the parts of the daemon, handed in by whoever builds them."""

import asyncio
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from postroom.api.tasks import Kept
from postroom.core.mailbox import Mailbox
from postroom.ports.accepting import AcceptResult, NewJob
from postroom.ports.backups import Backups
from postroom.ports.desk import Admin, Reader
from postroom.ports.host import Clock, Trust
from postroom.ports.inbox import Conversations
from postroom.ports.leasing import Bells, Leases
from postroom.ports.loop import Loop, Messages, Signals
from postroom.ports.reloading import Reloads
from postroom.ports.submitting import Submitter
from postroom.ports.uploads import Uploads


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much and how long: bytes of a body, of a batch, and the time in which a body must be here.

    `ping`: how long a stream may be silent; `stall`: how long its reader may take nothing before it is hung up on.
    `linger`: how long bytes that nobody wants are read off after an answer, so that the client gets to read it.
    `connections`: how many at once; `idle`: how long one may be without a whole request.
    """

    body_bytes: int = 1 << 20
    batch_bytes: int = 8 << 20
    body_time: timedelta = timedelta(seconds=60)
    linger: timedelta = timedelta(seconds=2)
    connections: int = 1000
    idle: timedelta = timedelta(seconds=75)
    ping: timedelta = timedelta(seconds=15)
    stall: timedelta = timedelta(seconds=15)

    @property
    def calls(self) -> int:
        """How many calls may be under way: some connections are left for who has not said yet what it wants."""
        return self.connections * 3 // 4

    @property
    def waits(self) -> int:
        """How many of them may be waiting for something; the rest is for who wants an answer now."""
        return self.connections // 2


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts. `stopping` is set by the server's drain. `is_operator` says of a uid whether it may do what concerns all. `principal` reads the peer's uid from a connection, None where it has none that counts.

    `on_fault` is told of every exception that nobody expected, with the call in which it happened;
    `on_store_refused` of every time that the store said no; `on_crowded` of every user who was refused since all
    connections are at work; `on_accepted` of what the store made of a reply that came
    with the completion of a lease.
    """

    submitter: Submitter
    reader: Reader
    admin: Admin
    leases: Leases
    bells: Bells
    conversations: Conversations
    uploads: Uploads
    backups: Backups
    reloads: Reloads
    loop: Loop
    signals: Signals
    messages: Messages
    mailboxes: Mapping[str, Mailbox]
    clock: Clock
    trust: Trust
    is_operator: Callable[[int], bool]
    kept: Kept
    principal: Callable[[socket.socket], int | None]
    on_fault: Callable[[str, Exception], None]
    on_store_refused: Callable[[Exception], None]
    on_crowded: Callable[[int | None], None]
    on_accepted: Callable[[NewJob, AcceptResult], None]
    version: str
    bounds: Bounds = Bounds()
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
