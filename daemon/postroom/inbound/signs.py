"""What a reader of a message should know of it: facts that the parser process sees (core.inmail.ReaderSigns).

Each place is looked at as it came, before anything is taken out of it.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from postroom.core.inmail import Counted, Person, ReaderSigns
from postroom.inbound.clean import clean_line
from postroom.inbound.encodedwords import decode_words
from postroom.inbound.head import Head
from postroom.inbound.invisible import count_bidi, count_invisible, without_invisible
from postroom.inbound.people import NAME_MOST


# What an event uses, in the order in which it is told.
_USED: Final = (
    "from",
    "subject",
    "date",
    "to",
    "cc",
    "reply-to",
    "message-id",
    "in-reply-to",
    "references",
    "content-type",
    "content-transfer-encoding",
)
_AT: Final = re.compile(r"\s*(?:\(at\)|\[at\]|\{at\})\s*", re.IGNORECASE)
_ADDRESS: Final = re.compile(
    r"[^\s@<>()\[\]\"',;:]{1,64}@[^\s@<>()\[\]\"',;:.]{1,63}(?:\.[^\s@<>()\[\]\"',;:.]{1,63}){1,8}"
)
_LONGEST: Final = 320
_LOOKED_AT: Final = 256 * 1024  # characters of a place: what an event shows of a text


def read_signs(
    head: Head,
    sender: Person | None,
    places: Mapping[str, str],
    hidden: Counted = Counted(),  # noqa: B008 - a frozen value
) -> ReaderSigns:
    """The signs of a message; `places` are the texts to look at, by what they are called."""
    names = {name for name, _ in head.fields}
    looked_at = {name: text[:_LOOKED_AT] for name, text in places.items()}
    return ReaderSigns(
        fields=tuple(name for name in _USED if name in names),
        name_address=None if sender is None else find_address_in_name(sender),
        hidden=hidden,
        invisible=_counted({name: count_invisible(text) for name, text in looked_at.items()}),
        bidi=_counted({name: count_bidi(text) for name, text in looked_at.items()}),
    )


def find_address_in_name(person: Person) -> str | None:
    """An address in a display name that is not the person's own, as it would be read; None where there is none."""
    # What an encoded word hid in another is as dangerous as what came in plain sight.
    name = clean_line(
        without_invisible(decode_words(without_invisible(person.name), set())), NAME_MOST
    )
    plain = _AT.sub("@", unicodedata.normalize("NFKC", name).replace("\u3002", "."))
    own = person.address.casefold()
    others = (one for one in _ADDRESS.findall(plain) if one.casefold() != own)
    found = next(others, None)
    return None if found is None else found[:_LONGEST]


def _counted(found: Mapping[str, int]) -> Counted:
    return Counted(sum(found.values()), tuple(name for name, number in found.items() if number))
