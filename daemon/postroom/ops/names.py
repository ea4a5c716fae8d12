"""Asking DNS for what an operator was told to put there: one question, one answer as a value. Blocks for some seconds at most."""

from dataclasses import dataclass
from typing import Final

import dns.exception
import dns.resolver


_PATIENCE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Records:
    """What a name has, as text; () = the name or such a record is not there."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Nobody could tell."""

    why: str


class Names:
    """Asks the servers that this machine uses, or `servers` (address and port)."""

    def __init__(
        self, servers: tuple[tuple[str, int], ...] = (), patience_s: float = _PATIENCE_S
    ) -> None:
        self._servers = servers
        self._patience_s = patience_s

    def find(self, name: str, kind: str) -> Records | NoAnswer:
        """The records of this kind (`MX`, `TXT`, `A`, `AAAA`) that a name has."""
        try:
            found = self._resolver().resolve(name, kind, raise_on_no_answer=False, search=False)
        except dns.resolver.NXDOMAIN:
            return Records(())
        except (dns.exception.DNSException, OSError, ValueError) as error:
            return NoAnswer(type(error).__name__)
        return Records(tuple(_text(kind, one.to_text()) for one in found))

    def _resolver(self) -> dns.resolver.Resolver:
        resolver = dns.resolver.Resolver(configure=not self._servers)
        if self._servers:
            resolver.nameservers = [address for address, _ in self._servers]
            resolver.nameserver_ports = dict(self._servers)
        resolver.lifetime = self._patience_s
        return resolver


def _text(kind: str, value: str) -> str:
    """An MX without its preference, both without the last dot; a TXT in one piece."""
    if kind == "TXT":
        return value.strip('"').replace('" "', "")
    return value.rpartition(" ")[2].rstrip(".").lower()
