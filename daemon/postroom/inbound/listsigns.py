"""Whether the address in From is a mailing list's own, as far as that is a fact. Pure.

It is one where a field of the list names it, or where the mail goes out for what keeps that very address (the reverse-path
or Sender is `team-bounces@`, `owner-team@`, … of `team@` there). Known limits: a list that says nothing of itself, and has
its mail sent by an address of another form or domain, looks like a person; if it answers it is counted (core.velocity).
"""

import re
from collections.abc import Iterator
from typing import Final

from postroom.core.matching import address_key
from postroom.inbound.head import Head
from postroom.inbound.people import read_addresses


_FIELDS: Final = (
    ("list-post", re.compile(r"<mailto:([^<>?\s]{3,320})", re.IGNORECASE)),  # RFC 2369 §3.4
    ("mailing-list", re.compile(r"list ([^\s;]{3,320})", re.IGNORECASE)),  # as ezmlm writes it
    ("x-beenthere", re.compile(r"(\S{3,320})")),  # as Mailman does
)
_LOOKED_AT: Final = 2_000  # octets of a field
# Mailman, Sympa, Majordomo and LISTSERV; with a `+` or a number behind it who is written to, too (VERP, ezmlm).
_KEEPERS: Final = ("-bounces", "-owner", "-request")


def is_list(address: str, head: Head, envelope_sender: str) -> bool:
    """Whether mail from this address is from a list."""
    key = address_key(address)
    if any(address_key(one) == key for one in _named(head)):
        return True
    sender = read_addresses([_value(head, "sender")], set())
    return any(_keeps(address_key(one), key) for one in (envelope_sender, *sender[:1]))


def _named(head: Head) -> Iterator[str]:
    for name, form in _FIELDS:
        found = form.search(_value(head, name).decode("utf-8", errors="replace"))
        if found is not None:
            yield found[1]


def _keeps(keeper: str, key: str) -> bool:
    """Whether one address is that by which a list's software sends for the other."""
    name, _, domain = key.rpartition("@")
    local, _, there = keeper.rpartition("@")
    if not name or there != domain:
        return False
    if local == f"owner-{name}" or local in {name + end for end in _KEEPERS}:
        return True
    verp, returned = f"{name}-bounces+", f"{name}-return-"
    return local.startswith(verp) or (
        local.startswith(returned) and local[len(returned) :][:1].isdigit()
    )


def _value(head: Head, name: str) -> bytes:
    return (head.first(name) or b"")[:_LOOKED_AT]
