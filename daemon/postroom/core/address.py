"""Addresses: exactly one addr-spec (RFC 5321 §4.1.2, RFC 6531), never a list, a route, a group, a comment or a literal.

What is accepted is what is stored and sent: the local part as given (in NFC), the domain as lower-case A-labels. Limits
are octets: local part 64, domain 253, both together 254. Names of intranets and tests (`.local`, `.test`,
`localhost`) are domains like others. Quoted local parts are accepted as long as nothing in them would need escaping.
Known limits: an address that is quoted or international has at most 252 octets.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from email_validator import EmailNotValidError, validate_email

from postroom.core.job import Address
from postroom.core.words import find_line_fault, shown


LOCAL_MOST: Final = 64
TOTAL_MOST: Final = 254
NAME_MOST: Final = 256

# The library's longest sentences, which name at most a few characters of the address.
_LIBRARY_SHOWN: Final = 200

_ATEXT: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# The common shape, judged without the library: 1,000 recipients would otherwise hold the loop for 30 ms.
_PLAIN: Final = re.compile(rf"{_ATEXT}+(?:\.{_ATEXT}+)*@{_LABEL}(?:\.{_LABEL})*")
_SIMPLE_QUOTED: Final = re.compile(rf'"(?:{_ATEXT}|\.)+"')
_FORBIDDEN: Final = re.compile(r"[\s,;:<>()\[\]\\]")
# Two letters and two hyphens begin an A-label, or something that is reserved (RFC 5890 §2.3.1): for the library.
_TAGGED_LABEL: Final = re.compile(r"(?:^|\.)..--")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')


def read_address(text: str, name: str = "") -> Address | str:
    """The address, or a sentence that says what is wrong with it. `name` is a display name that goes with it."""
    fault = find_line_fault(name)
    if fault is not None:
        return f"The display name {fault}."
    if len(name) > NAME_MOST:
        return f"The display name is longer than {NAME_MOST} characters."
    return _read_spec(text, " ".join(name.split()))


def is_rare(text: str) -> bool:
    """Whether it takes long to judge."""
    return not text.isascii() or '"' in text or "--" in text


def read_named_address(text: str) -> Address | str:
    """The address in `Name <user@domain>`, `"Name" <user@domain>` or `user@domain`, or what is wrong with it."""
    stripped = text.strip(" ")
    before, bracket, behind = stripped.rpartition("<")
    name = _read_name(before.strip(" "))
    spec, end, rest = behind.partition(">")
    if name is None or not bracket or not end or rest:
        return read_address(stripped)
    return read_address(spec, name)


def _read_name(text: str) -> str | None:
    """The display name, without its quotes; None where it is none."""
    quoted = _QUOTED.fullmatch(text)
    if quoted is not None:
        return re.sub(r"\\(.)", r"\1", quoted[1])
    return None if set(text) & set('<>"') else text


def _read_spec(text: str, name: str) -> Address | str:
    fault = find_line_fault(text)
    if fault is not None:
        return f"The address {fault}."
    # No legal address has more characters than octets, and the library need not look at megabytes.
    if len(text) > TOTAL_MOST:
        return f"The address is longer than {TOTAL_MOST} octets."
    local, _, domain = text.rpartition("@")
    if not local or not domain:
        return f"The address {shown(text)!r} must be user@domain."
    if _FORBIDDEN.search(text):
        return f"The address {shown(text)!r} must be one bare user@domain, without names, brackets, lists or spaces."
    if _PLAIN.fullmatch(text) and not _TAGGED_LABEL.search(domain):
        return _limited(local, domain.lower(), name)
    return _read_rare(local, domain, name)


# Each takes a third of a millisecond, and a job's are looked at more than once.
@lru_cache(maxsize=4096)
def _read_rare(local: str, domain: str, name: str) -> Address | str:
    """Quoted and international addresses, and the words for what is wrong."""
    is_quoted = local.startswith('"')
    if is_quoted and not _SIMPLE_QUOTED.fullmatch(local):
        return "The quoted part before the @ holds characters that are not accepted there."
    try:
        # The library refuses names that are reserved for tests and intranets; one more label hides that from it.
        found = validate_email(
            f"{local}@{domain}.a",
            check_deliverability=False,
            globally_deliverable=False,
            allow_quoted_local=True,
        )
    except EmailNotValidError as problem:
        return f"The address is not valid: {shown(str(problem), _LIBRARY_SHOWN)}"
    normal = local if is_quoted else unicodedata.normalize("NFC", local)
    return _limited(normal, str(found.ascii_domain)[: -len(".a")].lower(), name)


def _limited(local: str, domain: str, name: str) -> Address | str:
    """The address if its parts are within their limits; how long it is in all was looked at before."""
    if len(local.encode()) > LOCAL_MOST:
        return f"The part before the @ is longer than {LOCAL_MOST} octets."
    if domain.rpartition(".")[2].isdigit():
        return "The part after the @ is a number or an IP address, not a domain."
    return Address(f"{local}@{domain}", name)
