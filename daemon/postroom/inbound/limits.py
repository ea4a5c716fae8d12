"""What the listener allows a stranger, each with its reason (HAZARDS §1.3). The tests put smaller ones in their place."""

from dataclasses import dataclass, field
from typing import Final


IN_ROW_BYTES: Final = (
    64 * 1024
)  # larger messages go to the spool while they come in: memory stays small


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in seconds. Peers in `trusted_relays` have only `connections` (less `kept_for_others`) and the sizes and times."""

    connections: int = 200  # each may hold some 200 KiB of buffers
    kept_for_others: int = (
        20  # of them trusted relays never take: strangers get in whatever our own server does
    )
    per_address: int = 10  # what large providers open at once; an IPv6 address counts by its /64
    per_minute: int = 60  # connections from one address
    are_neighbours_counted: bool = (
        False  # programs of this machine: behind our own mail server stand many senders
    )
    errors: int = (
        5  # refusals in a session but of unknown recipients: honest servers make none or one
    )
    recipients: int = 50
    line_bytes: int = (
        64 * 1024
    )  # real mail has lines far beyond RFC 5321's 998 (aiosmtpd#285, OpenSMTPD#1134)
    command_bytes: int = 1024  # RFC 5321's 512, and the parameters of MAIL
    command_hard_bytes: int = 4096  # nobody means well with more
    hops: int = 50  # Received fields: beyond it is a loop
    command_s: float = 60.0
    crowded_s: float = 10.0  # that honest servers take for a step; they come again, too
    data_s: float = 300.0  # for the content, and a second more for each `data_rate` bytes that came
    data_rate: int = 500  # bytes a second
    data_total_s: float = 900.0
    session_s: float = 3600.0
    storing: int = 16  # messages at the store at once: more would only wait behind each other, before our own marks
    unknown_free: int = (
        20  # unknown recipients from one address in ten minutes before each further answer is slow
    )
    tarpit_s: float = 2.0
    calls: dict[str, int] = field(default_factory=lambda: {"NOOP": 20, "RSET": 100, "RCPT": 1000})
    calls_other: int = 60  # of each other command since the last mail that was taken
