"""XFORWARD: a trusted relay says whom it has a message from (Postfix's own extension, XFORWARD_README).

Only address and name of the client count here; everything is a relay's word about a stranger, bounded and checked.
"""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from postroom.core.words import shown


OFFER: Final = "XFORWARD NAME ADDR PORT PROTO HELO SOURCE"

_NAMES: Final = frozenset(OFFER.split()[1:])
_NOT_KNOWN: Final = frozenset({"[UNAVAILABLE]", "[TEMPUNAVAIL]"})
_IPV6: Final = "IPV6:"
_ATTRIBUTE: Final = re.compile(r"([A-Za-z]{1,20})=([!-~]*)")
_XTEXT: Final = re.compile(r"(?:[!-*,-<>-~]|\+[0-9A-F]{2})*")
_ENCODED: Final = re.compile(r"\+([0-9A-F]{2})")
_LONGEST: Final = 255  # XFORWARD_README: no attribute has more


@dataclass(frozen=True, slots=True)
class Forwarded:
    """What one or more XFORWARD commands said; None = nothing, or that it is not known."""

    client_ip: str | None = None
    helo: str | None = None


NOTHING: Final = Forwarded()


def read_forwarded(argument: str | None, before: Forwarded = NOTHING) -> Forwarded | None:
    """What is known after this command; None when it is wrong."""
    if not argument:
        return None
    said = {"ADDR": before.client_ip or "", "HELO": before.helo or ""}
    for word in argument.split(" "):
        found = _ATTRIBUTE.fullmatch(word)
        name = "" if found is None else found[1].upper()
        value = None if found is None else _decoded(found[2])
        if value is None or name not in _NAMES:
            return None
        said[name] = "" if value.upper() in _NOT_KNOWN else value
    address = _address(said["ADDR"])
    if said["ADDR"] and address is None:
        return None
    return Forwarded(address, shown(said["HELO"], _LONGEST) or None)


def _decoded(text: str) -> str | None:
    """The value behind xtext (RFC 3461 §4); None when it is none, or too long."""
    if not _XTEXT.fullmatch(text):
        return None
    octets = _ENCODED.sub(lambda found: chr(int(found[1], 16)), text)
    return octets if len(octets) <= _LONGEST else None


def _address(text: str) -> str | None:
    is_ipv6 = text.upper().startswith(_IPV6)
    try:
        address = ip_address(text[len(_IPV6) :] if is_ipv6 else text)
    except ValueError:
        return None
    return str(address) if "%" not in text else None
