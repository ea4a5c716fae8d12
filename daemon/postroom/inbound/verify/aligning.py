"""What domains have to do with each other, with DNS asked: organisations, alignment, and the policy for From.

Everything is asked once for a message. Domains that can not be of one organisation are never asked for.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from postroom.core.dmarc import Walk, is_aligned, may_align, policy_for
from postroom.core.domainname import domain_of
from postroom.core.verdict import Alignment
from postroom.inbound.verify.walking import is_missing, walk
from postroom.ports.resolving import Resolver


_REPLY_DOMAINS_MOST: Final = 5
_DOMAINS_MOST: Final = 12  # of one message, beside the author's


@dataclass(frozen=True, slots=True)
class Policy:
    """What the domain in From asks for; `is_known` false: there was no answer. Without a record all is None."""

    is_known: bool
    domain: str | None
    policy: str | None
    is_dkim_strict: bool
    is_spf_strict: bool


class Walks:
    """The walks of one message."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._walks: dict[str, Walk] = {}

    async def of(self, domain: str) -> Walk:
        """The walk from a domain."""
        if domain not in self._walks:
            self._walks[domain] = await walk(self._resolver, domain)
        return self._walks[domain]

    async def organisation(self, addresses: Sequence[str]) -> str | None:
        """The one organisation of all these addresses; None where it is not one, or not known."""
        domains = {domain_of(one) for one in addresses}
        known = sorted(one for one in domains if one is not None)
        if None in domains or not 0 < len(known) <= _REPLY_DOMAINS_MOST:
            return None
        organisations = {(await self.of(one)).organisation for one in known}
        return organisations.pop() if len(organisations) == 1 else None

    async def policy(self, author: str) -> Policy:
        """What the domain asks for."""
        found = await self.of(author)
        applying = found.applying
        if applying is None:
            return Policy(found.is_whole, None, None, is_dkim_strict=False, is_spf_strict=False)
        name, record = applying
        is_unknown = record.has_missing_policy and name != author
        is_gone = is_unknown and await is_missing(self._resolver, author)
        return Policy(
            is_known=True,
            domain=name,
            policy=policy_for(found, name, record, is_domain_missing=is_gone),
            is_dkim_strict=record.is_dkim_strict,
            is_spf_strict=record.is_spf_strict,
        )

    async def aligner(self, author: str, domains: Iterable[str | None]) -> "Aligner":
        """What is known of these domains."""
        policy = await self.policy(author)
        needed = {one for one in domains if one is not None and may_align(author, one)} - {author}
        async with asyncio.TaskGroup() as group:
            for one in sorted(needed)[:_DOMAINS_MOST]:
                group.create_task(self.of(one))
        return Aligner(await self.of(author), policy, dict(self._walks))


@dataclass(frozen=True, slots=True)
class Aligner:
    """Says whether a domain is of the organisation in From."""

    author: Walk
    policy: Policy
    walks: dict[str, Walk]

    def alignment(self, domain: str | None, *, is_dkim: bool) -> Alignment:
        """Whether it is; UNKNOWN where an answer was missing."""
        if domain is None or not may_align(domain, self.author.domain):
            return Alignment.NO
        if domain == self.author.domain:
            return Alignment.YES
        is_strict = self.policy.is_dkim_strict if is_dkim else self.policy.is_spf_strict
        if is_strict:
            return Alignment.NO
        other = self.walks.get(domain)
        if other is None or other.organisation is None or self.author.organisation is None:
            return Alignment.UNKNOWN
        fits = is_aligned(self.author, other, is_strict=False)
        return Alignment.YES if fits else Alignment.NO
