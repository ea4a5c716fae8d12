"""The one door to dnspython: one question, one answer as a value. Imported in a thread when first needed.

A name is handed over label by label, so nothing in it is read as an escape; a truncated answer is asked for again over
TCP. What a server can not or will not tell is `NoAnswer`, and so is a machine without a network.
"""

from dataclasses import dataclass
from typing import Final

import dns.asyncresolver
import dns.exception
import dns.name
import dns.rdata
import dns.resolver

from postroom.ports.resolving import Answer, Found, Kind, Lookup, NoAnswer, Nothing


_TRY_S: Final = 1.0  # for one server and one packet; then the next, or once more
# What passes every network in one piece (DNS flag day 2020).
_PAYLOAD: Final = 1232
_RECORDS_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Told:
    """An answer, and for how many seconds it holds; `is_silence`: nobody answered for as long as we wait."""

    answer: Answer
    ttl: int
    is_silence: bool = False


class DnsDoor:
    """Asks these servers."""

    def __init__(self, nameservers: tuple[tuple[str, int], ...], patience_s: float) -> None:
        self._resolver = dns.asyncresolver.Resolver(configure=False)
        self._resolver.nameservers = [address for address, _ in nameservers]
        self._resolver.nameserver_ports = dict(nameservers)
        self._resolver.timeout = min(_TRY_S, patience_s)
        self._resolver.lifetime = patience_s
        self._resolver.use_edns(0, 0, _PAYLOAD)

    async def ask(self, lookup: Lookup) -> Told:
        """What the servers say; never raises."""
        try:
            name = dns.name.Name(
                [label.encode("ascii") for label in lookup.name.split(".")] + [b""]
            )
        except (dns.exception.DNSException, UnicodeError):
            return Told(Nothing(is_name_missing=True), 0)  # nothing can be of such a name
        try:
            found = await self._resolver.resolve(
                name, lookup.kind.value, raise_on_no_answer=False, search=False
            )
        except dns.resolver.NXDOMAIN as missing:
            return Told(Nothing(is_name_missing=True), _negative_ttl(missing))
        except dns.resolver.LifetimeTimeout:
            return Told(NoAnswer(), 0, is_silence=True)
        except (dns.exception.DNSException, OSError, ValueError):
            return Told(NoAnswer(), 0)
        records = [_text(lookup.kind, one) for one in _sorted(lookup.kind, list(found))]
        ttl = found.chaining_result.minimum_ttl
        if not records:
            return Told(Nothing(is_name_missing=False), ttl)
        return Told(Found(tuple(records[:_RECORDS_MOST])), ttl)


def _negative_ttl(missing: dns.resolver.NXDOMAIN) -> int:
    ttls = [one.resolve_chaining().minimum_ttl for one in missing.responses().values()]  # type: ignore[no-untyped-call]
    return min(ttls, default=0)


def _sorted(kind: Kind, records: list[dns.rdata.Rdata]) -> list[dns.rdata.Rdata]:
    return sorted(records, key=lambda one: one.preference) if kind is Kind.MX else records  # type: ignore[attr-defined]


def _text(kind: Kind, record: dns.rdata.Rdata) -> str:
    match kind:
        case Kind.TXT:
            return b"".join(record.strings).decode("latin-1")  # type: ignore[attr-defined]
        case Kind.MX:
            return record.exchange.to_text(omit_final_dot=True).lower()  # type: ignore[attr-defined, no-any-return]
        case Kind.PTR:
            return record.target.to_text(omit_final_dot=True).lower()  # type: ignore[attr-defined, no-any-return]
        case Kind.A | Kind.AAAA:
            return str(record.address)  # type: ignore[attr-defined]
