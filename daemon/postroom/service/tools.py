"""What every part of the daemon is given: clock, chance, log, the line to systemd and its sockets."""

import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

from postroom.api.parts import Bounds
from postroom.config.settings import Settings
from postroom.inbound.limits import Limits
from postroom.ops.chronicle import Chronicle
from postroom.ops.decisions import Decisions
from postroom.ops.inwardsignals import InwardSignals
from postroom.ops.supervisor import Supervisor
from postroom.outbound.timeouts import Timeouts
from postroom.ports.host import Clock, Entropy
from postroom.store.sqlite.opening import OpeningRules
from postroom.store.sqlite.outbox import Outbox, open_outbox


OpenOutbox = Callable[
    [Path, Clock, Entropy, Callable[[str], bool], OpeningRules | None],
    AbstractAsyncContextManager[Outbox],
]


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools. `sockets` are listening sockets that systemd handed over for the API; none = bind our own.

    `read_settings` reads them as they are written now (Raises: ConfigError). `smtp_sockets` are those for mail that comes
    in; `accepts_lost_keys`: a key of reply addresses may be missing. `open_outbox` opens the store, `timeouts` are for
    relays, `bounds` for clients of the API, `limits` for those of the listener; `arrivals` counts what comes in.
    """

    clock: Clock
    entropy: Entropy
    decisions: Decisions
    chronicle: Chronicle
    supervisor: Supervisor
    sockets: tuple[socket.socket, ...]
    read_settings: Callable[[], Settings]
    smtp_sockets: tuple[socket.socket, ...] = ()
    accepts_lost_keys: bool = False
    open_outbox: OpenOutbox = open_outbox
    timeouts: Timeouts = field(default_factory=Timeouts)
    arrivals: InwardSignals = field(default_factory=InwardSignals)
    bounds: Bounds = field(default_factory=Bounds)
    limits: Limits = field(default_factory=Limits)
