"""SPF (RFC 7208): may this address send for that domain? The library runs in a thread, its questions go to the resolver.

With a null reverse-path it is `postmaster` at the HELO name that is checked, with scope `helo`. A HELO name never stands in
for an envelope sender that is there (CVE-2019-20790), and what is not a plain domain is never made into one.
"""

import asyncio
from concurrent.futures import Executor
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final

from postroom.core.authentication import Outcome, Spf
from postroom.core.domainname import domain_of, read_domain
from postroom.ports.resolving import Answer, Lookup, Resolver


# The most that RFC 7208 can need is some 230 with 10 mechanisms of 10 exchanges each; honest records need under 20.
_LOOKUPS_MOST: Final = 60
_LOCAL_MOST: Final = 64

_NO_CLIENT: Final = "the address that it came from is not known"
_NO_DOMAIN: Final = "the sender's domain is not a domain"
_WHY: Final = {
    Outcome.NONE: "the domain publishes no record",
    Outcome.PERMERROR: "the domain's record can not be evaluated",
    Outcome.TEMPERROR: "DNS gave no answer in time",
}


@dataclass(frozen=True, slots=True)
class Sender:
    """Who is checked: `domain` is None where what was given is no domain."""

    scope: str
    local: str
    domain: str | None


def sender_of(envelope_sender: str, helo: str) -> Sender:
    """The identity that SPF is about."""
    if not envelope_sender:
        return Sender("helo", "postmaster", read_domain(helo))
    local, _, _ = envelope_sender.rpartition("@")
    return Sender("mfrom", local[:_LOCAL_MOST] or "postmaster", domain_of(envelope_sender))


async def check_spf(
    resolver: Resolver, executor: Executor, client_ip: str | None, sender: Sender, helo: str
) -> Spf:
    """The outcome; `is_aligned` is for others to find out."""
    client = None if client_ip is None else _read_ip(client_ip)
    if client is None:
        return _spf(Outcome.ABSENT, None, None, None, _NO_CLIENT)
    if sender.domain is None:
        return _spf(Outcome.PERMERROR, sender.scope, None, client, _NO_DOMAIN)
    if "." not in sender.domain:  # RFC 7208 §4.3
        why = _WHY[Outcome.NONE]
        return _spf(Outcome.NONE, sender.scope, sender.domain, client, why)
    name = read_domain(helo) or "unknown"
    outcome = await _evaluate(resolver, executor, client, sender, name)
    return _spf(outcome, sender.scope, sender.domain, client, _WHY.get(outcome))


async def _evaluate(
    resolver: Resolver, executor: Executor, client: str, sender: Sender, helo: str
) -> Outcome:
    """Evaluate, ask what is missing, and again."""
    loop = asyncio.get_running_loop()
    identity = (sender.local, sender.domain or "")
    answers: dict[Lookup, Answer] = {}
    while len(answers) < _LOOKUPS_MOST:
        # A copy: a thread that outlives its message must not see others' changes.
        found = await loop.run_in_executor(
            executor, _evaluate_once, client, identity, helo, dict(answers)
        )
        if isinstance(found, Outcome):
            return found
        answers[found] = await resolver.ask(found)
    return Outcome.PERMERROR


def _evaluate_once(
    client: str, identity: tuple[str, str], helo: str, answers: dict[Lookup, Answer]
) -> Outcome | Lookup:
    from postroom.inbound.verify.spfdoor import Missing, evaluate  # noqa: PLC0415 - slow to import

    found = evaluate(client, identity, helo, answers)
    return found.lookup if isinstance(found, Missing) else found


def _read_ip(text: str) -> str | None:
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(found)


def _spf(
    result: Outcome, scope: str | None, domain: str | None, client: str | None, why: str | None
) -> Spf:
    return Spf(result, scope, domain, client, is_aligned=False, why=why)
