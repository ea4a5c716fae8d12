"""What the checks of received mail ask DNS, and what it can answer: values, never exceptions."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Kind(StrEnum):
    """The record types that SPF, DKIM and DMARC ask for."""

    TXT = "TXT"
    A = "A"
    AAAA = "AAAA"
    MX = "MX"
    PTR = "PTR"


@dataclass(frozen=True, slots=True)
class Lookup:
    """One question. `name` is in ASCII, in lower case, without a dot at its end."""

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class Found:
    """The records, at least one, strangers' text all of them.

    TXT: the strings of a record as one, a character for each octet (Latin-1). A, AAAA: addresses. MX: the exchanges in
    order of preference. PTR: names. Names are without a dot at their end.
    """

    records: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Nothing:
    """There is no such record; `is_name_missing`: nor any other of that name (NXDOMAIN)."""

    is_name_missing: bool


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Nobody knows: time ran out, or the servers could not tell."""


Answer = Found | Nothing | NoAnswer


class Resolver(Protocol):
    """Asks DNS. Never raises for what a name, a server or the network does."""

    async def ask(self, lookup: Lookup) -> Answer:
        """The answer, within a time box of the resolver's own."""
        ...
