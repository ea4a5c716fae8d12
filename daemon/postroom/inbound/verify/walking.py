"""The tree walk of RFC 9989 with its questions asked: at most eight for a domain, the longest name first."""

from postroom.core.dmarc import DmarcRecord, Walk, is_last, names_to_ask, read_record
from postroom.ports.resolving import Found, Kind, Lookup, NoAnswer, Nothing, Resolver


async def walk(resolver: Resolver, domain: str) -> Walk:
    """The records on the way up from the domain; it ends where an answer is missing."""
    found: list[tuple[str, DmarcRecord]] = []
    for name in names_to_ask(domain):
        answer = await resolver.ask(Lookup(Kind.TXT, f"_dmarc.{name}"))
        match answer:
            case NoAnswer():
                return Walk(domain, tuple(found), is_whole=False)
            case Found(records):
                record = read_record(records)
                if record is not None:
                    found.append((name, record))
                    if is_last(record):
                        break
            case Nothing():
                pass
    return Walk(domain, tuple(found), is_whole=True)


async def is_missing(resolver: Resolver, domain: str) -> bool:
    """Whether nothing that takes or sends mail is of this name (RFC 9989 §4.7: no A, no AAAA and no MX)."""
    for kind in (Kind.MX, Kind.A, Kind.AAAA):
        match await resolver.ask(Lookup(kind, domain)):
            case Nothing(is_name_missing=True):
                return True
            case Nothing():
                continue
            case _:
                return False
    return True
