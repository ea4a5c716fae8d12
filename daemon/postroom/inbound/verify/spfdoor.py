"""The one door to pyspf: one evaluation over answers that are at hand. Imported and run in a thread.

pyspf asks DNS itself, by a function of its module. Ours looks into a table that belongs to the thread, so evaluations do
not meet, and raises where an answer is not in it: whoever runs the evaluation asks, adds the answer and runs it again.
So no thread waits for DNS, and a message that is given up leaves nothing behind. The library keeps the limits of RFC 7208
(10 lookups, 2 void ones, 10 exchanges). Terms that its patterns would chew on for seconds are a permanent error.
"""

import threading
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from postroom.core.authentication import Outcome
from postroom.core.domainname import DOMAIN_MOST
from postroom.ports.resolving import Answer, Found, Kind, Lookup, NoAnswer, Nothing


with warnings.catch_warnings():
    # Its pattern strings are not those that Python 3.12 wants.
    warnings.simplefilter("ignore")
    import spf  # type: ignore[import-untyped]

_RECORD_MOST: Final = 4096  # RFC 7208 §3.4 advises 450
_TERM_MOST: Final = 512
_LABEL_MOST: Final = 63
_VERSION: Final = "v=spf1"


@dataclass(frozen=True, slots=True)
class Missing:
    """The evaluation needs this answer."""

    lookup: Lookup


class _Needed(Exception):
    """Ends an evaluation at a question; goes through all of pyspf."""

    def __init__(self, lookup: Lookup) -> None:
        super().__init__(lookup.name)
        self.lookup = lookup


class _Table(threading.local):
    """The answers that the evaluation in this thread may use."""

    answers: Mapping[Lookup, Answer] = {}


_table: Final = _Table()


def evaluate(
    client_ip: str, sender: tuple[str, str], helo: str, answers: Mapping[Lookup, Answer]
) -> Outcome | Missing:
    """The outcome of RFC 7208 for this sender (local part and domain), or what has to be asked first."""
    _table.answers = answers
    try:
        # Its own reading of an address takes the first @, and a quoted local part may have one.
        local, domain = sender
        query = spf.query(i=client_ip, s=f"postmaster@{domain}", h=helo, querytime=0)
        query.l, query.s = local, f"{local}@{domain}"
        result, _, _ = query.check()
    except _Needed as needed:
        return Missing(needed.lookup)
    except Exception:  # noqa: BLE001 - it raises IndexError, ValueError and more on strangers' records
        return Outcome.PERMERROR
    # An explanation's question is swallowed by pyspf, and its text is nothing to us.
    return Outcome(result)


def _lookup(name: str, qtype: str, *_: object) -> list[tuple[tuple[str, str], object]]:
    """Stands in for `spf.DNSLookup`."""
    if not _can_be_asked(name):
        return []
    lookup = Lookup(Kind(qtype), name.lower())
    answer = _table.answers.get(lookup)
    match answer:
        case None:
            raise _Needed(lookup)
        case NoAnswer():
            raise spf.TempError(name)
        case Nothing():
            return []
        case Found(records):
            return [((name, qtype), value) for value in _values(lookup.kind, records)]


def _values(kind: Kind, records: Iterable[str]) -> list[object]:
    match kind:
        case Kind.TXT:
            return [(_bounded(one).encode("latin-1"),) for one in records]
        case Kind.MX:
            return list(enumerate(records))
        case Kind.A | Kind.AAAA | Kind.PTR:
            return list(records)


def _bounded(record: str) -> str:
    if record[: len(_VERSION)].lower() == _VERSION and (
        len(record) > _RECORD_MOST or any(len(term) > _TERM_MOST for term in record.split(" "))
    ):
        raise spf.PermError(_VERSION)
    return record


def _can_be_asked(name: str) -> bool:
    return (
        name.isascii()
        and len(name) <= DOMAIN_MOST
        and all(0 < len(label) <= _LABEL_MOST for label in name.split("."))
    )


spf.DNSLookup = _lookup
