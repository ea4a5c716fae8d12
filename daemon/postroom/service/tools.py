"""What every part of the daemon is given: clock, chance, log, the line to systemd and its sockets."""

import socket
from dataclasses import dataclass

from postroom.ops.chronicle import Chronicle
from postroom.ops.decisions import Decisions
from postroom.ops.supervisor import Supervisor
from postroom.ports.host import Clock, Entropy


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools. `sockets` are listening sockets that systemd handed over for the API; none = bind our own.

    `smtp_sockets` are those for mail that comes in; `accepts_lost_keys`: a key of reply addresses may be missing.
    """

    clock: Clock
    entropy: Entropy
    decisions: Decisions
    chronicle: Chronicle
    supervisor: Supervisor
    sockets: tuple[socket.socket, ...]
    smtp_sockets: tuple[socket.socket, ...] = ()
    accepts_lost_keys: bool = False
