"""The question whether a received message is from whom it says, as intake asks it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from postroom.core.authentication import Authentication


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be judged. `raw` are the bytes as they were stored, or the file that has them.

    `client_ip` is the address that handed the message in, None where a trusted relay did and did not say from whom it
    had it: then SPF can mean nothing. `envelope_sender` '' = the null reverse-path. `from_address` is the one address
    in From, None where there is not exactly one; `reply_to` are all addresses in Reply-To. `is_hurried`: other mail waits
    for this one, so that less time is to be spent on it.
    """

    raw: bytes | Path
    client_ip: str | None
    helo: str
    envelope_sender: str
    is_trusted: bool
    from_address: str | None
    reply_to: tuple[str, ...]
    is_hurried: bool = False


class Verifier(Protocol):
    """Judges messages; never raises for what a message or DNS does, and answers within ten seconds."""

    async def verify(self, question: Question) -> Authentication:
        """All of the evidence, with its verdict."""
        ...
