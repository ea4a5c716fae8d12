"""A resolver that stops asking when its time is up: what one message may cost, however many names it makes us ask."""

import asyncio

from postroom.ports.resolving import Answer, Lookup, NoAnswer, Resolver


class BoundedResolver:
    """Asks another resolver until the loop's time `until`; from then on nobody answers."""

    def __init__(self, resolver: Resolver, until: float) -> None:
        self._resolver = resolver
        self._until = until

    async def ask(self, lookup: Lookup) -> Answer:
        """The answer of the other resolver, if it comes in time."""
        if asyncio.get_running_loop().time() >= self._until:
            return NoAnswer()
        try:
            async with asyncio.timeout_at(self._until):
                return await self._resolver.ask(lookup)
        except TimeoutError:
            return NoAnswer()
