"""To which thread a received message belongs: what is looked at, in which order, and how sure it makes (CONTRACT §5). Pure.

| sign | confidence |
|---|---|
| reply token, return-path token | certain; genuine but expired: strong |
| In-Reply-To, then References, the newest first | strong |
| Thread-Index, then subject, from the same peer within 30 days | weak |

Ids are compared normalised: without what folding put into them, the domain in lower case, and all regions of Amazon
SES as one, since it answers with the bare id and writes its region behind that.
"""

import binascii
import re
import unicodedata
from base64 import b64decode
from collections.abc import Collection, Iterable
from datetime import timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Final

from postroom.core.address import read_address
from postroom.core.delivery import Feedback
from postroom.core.inmail import InMail
from postroom.core.job import Address
from postroom.core.token import Token, TokenKind, TokenStatus


class MatchedBy(StrEnum):
    """What tied a message to its thread."""

    REPLY_TOKEN = "reply_token"  # noqa: S105 - a word of the contract
    RETURN_PATH = "return_path"
    IN_REPLY_TO = "in_reply_to"
    REFERENCES = "references"
    THREAD_INDEX = "thread_index"
    SUBJECT = "subject"
    NONE = "none"


class Confidence(StrEnum):
    """How sure that is."""

    CERTAIN = "certain"
    STRONG = "strong"
    WEAK = "weak"
    NONE = "none"


WEAK_FOR: Final = timedelta(days=30)
SAME_MOST: Final = 100

_SES: Final = re.compile(r"@(?:[a-z0-9-]+\.)*amazonses\.com$")
_SES_NAME: Final = re.compile(r"[0-9a-f]{16}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-[0-9]{6}")
_ROOT: Final = 22  # octets of a Thread-Index that all mails of a conversation have
_INDEX_MOST: Final = 4096

_ORDER: Final = tuple(Feedback)


def normalise_id(text: str) -> str:
    """A Message-ID as it is compared, with its brackets; '' when it is none."""
    inner = "".join(text.split()).removeprefix("<").removesuffix(">")
    local, at, domain = inner.rpartition("@")
    if not inner or "<" in inner or ">" in inner:
        return ""
    return f"<{_SES.sub('@email.amazonses.com', local + at + domain.lower())}>"


def relay_aliases(relay_message_id: str | None) -> tuple[str, ...]:
    """The Message-IDs, normalised, under which a relay may send a message on that it called so in its reply."""
    if relay_message_id is None:
        return ()
    if _SES_NAME.fullmatch(relay_message_id):
        return (f"<{relay_message_id}@email.amazonses.com>",)
    if "@" not in relay_message_id:  # most relays call it by a number
        return ()
    alias = normalise_id(relay_message_id)
    return (alias,) if "@" in alias[2:-2] else ()


def find_ids(mail: InMail) -> tuple[tuple[MatchedBy, str], ...]:
    """The ids, normalised, that may name a thread, in the order in which they are believed; never its own."""
    own = normalise_id(mail.message_id or "")
    found: dict[str, MatchedBy] = {}
    for sign, ids in (
        (MatchedBy.IN_REPLY_TO, mail.in_reply_to),
        (MatchedBy.REFERENCES, mail.references),
    ):
        for text in reversed(ids):
            found.setdefault(normalise_id(text), sign)
    return tuple((sign, id_) for id_, sign in found.items() if id_ not in {"", own})


def sort_tokens(tokens: Iterable[Token]) -> tuple[Token, ...]:
    """The best first: valid before expired, a reply's before a return path's."""
    return tuple(sorted(tokens, key=_rank))


def sign_of(token: Token) -> tuple[MatchedBy, Confidence]:
    """What a genuine token is worth."""
    sign = MatchedBy.REPLY_TOKEN if token.kind is TokenKind.REPLY else MatchedBy.RETURN_PATH
    is_valid = token.status is TokenStatus.VALID
    return sign, Confidence.CERTAIN if is_valid else Confidence.STRONG


def thread_root(thread_index: str | None) -> str | None:
    """What all mails of an Outlook conversation have in common, as hex; None where there is none."""
    if not thread_index or len(thread_index) > _INDEX_MOST:
        return None
    try:
        octets = b64decode("".join(thread_index.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    return octets[:_ROOT].hex() if len(octets) >= _ROOT else None


def weaker_than(feedback: Feedback) -> tuple[Feedback, ...]:
    """What this fact may take the place of."""
    return _ORDER[: _ORDER.index(feedback)]


@lru_cache(maxsize=1024)  # a report may name a hundred, each to be held against a hundred of ours
def address_key(address: str) -> str:
    """The form in which two spellings of one address are equal; that of ours has its domain in A-labels."""
    found = address if address.isascii() else read_address(address)
    return found.key if isinstance(found, Address) else address.casefold()


def quick_key(address: str) -> str:
    """Its key where that takes no time, else the address as it is written: see `same_keys`."""
    return address.casefold() if address.isascii() else address


def same_keys(addresses: Iterable[str], keys: Collection[str]) -> frozenset[str]:
    """Which of these keys belong to one of the addresses that are written in other letters.

    Strangers may have put thousands there, and each takes a third of a millisecond: looked at are those whose local part
    fits, at most SAME_MOST of them.
    """
    wanted = {key.rpartition("@")[0] for key in keys}
    rare = sorted(one for one in addresses if not one.isascii() and _local_key(one) in wanted)
    return frozenset(keys) & {address_key(one) for one in rare[:SAME_MOST]}


def _local_key(address: str) -> str:
    return unicodedata.normalize("NFC", address.rpartition("@")[0]).casefold()


def _rank(token: Token) -> tuple[bool, bool]:
    return token.status is not TokenStatus.VALID, token.kind is not TokenKind.REPLY
