"""DNS data for tests, and a resolver that has it at hand; what a name is told here holds for the real server too."""

import asyncio
from dataclasses import dataclass, field

from postroom.ports.resolving import Answer, Found, Kind, Lookup, NoAnswer, Nothing
from support.clock import settle


@dataclass
class Zone:
    """Records by `name TYPE`; names that nobody answers for, that fail, or whose answers do not fit into a packet."""

    records: dict[str, list[str]] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    failing: set[str] = field(default_factory=set)
    large: set[str] = field(default_factory=set)
    ttl: int = 60

    def find(self, lookup: Lookup) -> Answer:
        if lookup.name in self.silent | self.failing:
            return NoAnswer()
        found = self.records.get(f"{lookup.name} {lookup.kind.value}")
        if found and lookup.kind is Kind.MX:
            found = [one.split()[1] for one in sorted(found, key=lambda one: int(one.split()[0]))]
        if found:
            return Found(tuple(found))
        names = {one.split()[0] for one in self.records}
        is_there = any(one == lookup.name or one.endswith(f".{lookup.name}") for one in names)
        return Nothing(is_name_missing=not is_there)


class FakeResolver:
    """Answers from a zone; who is silent is waited for in vain, as the real one's patience ends."""

    def __init__(self, zone: Zone) -> None:
        self.zone = zone
        self.asked: list[Lookup] = []

    async def ask(self, lookup: Lookup) -> Answer:
        self.asked.append(lookup)
        await settle(1)
        return self.zone.find(lookup)


class DeadResolver:
    """Never answers, and never gives up."""

    async def ask(self, lookup: Lookup) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError
