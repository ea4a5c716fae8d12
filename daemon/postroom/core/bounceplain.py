"""The words of a delivery report, made plain, and the reason that they say: the order in which the tables are asked.

What speaks of us comes before what speaks of the recipient, and what is known word for word before the families.
"""

import re
from functools import lru_cache
from typing import Final

from postroom.core.bouncefamilies import (
    DOMAINS,
    MAILS,
    PAPERS,
    POLICIES,
    RATES,
    RECIPIENTS,
    SERVERS,
    US,
    WISHES,
    apart,
    find_family,
    without_many,
    without_us,
)
from postroom.core.bouncereason import BounceReason
from postroom.core.bouncestatus import RELAYS
from postroom.core.bouncetongues import ABOUT_RECIPIENTS, ABOUT_THE_MAIL, ABOUT_US, AFTER_ALL
from postroom.core.bouncewords import NOBODY, OURS, PEER, THEIRS, Phrases
from postroom.core.throttles import WORDS


_R = BounceReason

WORDS_MOST: Final = 4096
_BRACKETED: Final = re.compile(r"<[^<>\s]{0,320}>")
_ADDRESS: Final = re.compile(r"[^\s<>()\[\],;:\"']{0,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,10}")
# What says nothing of the mail that came back: how programs begin and end, and what a scanner adds to every mail.
_NOISE: Final = re.compile(
    r"undeliverable:|undeliverable (?:mail|message)|the error that the other server returned was"
    r"|error: some recipients failed|smtp error from remote (?:mail )?server|(?<=\n)554 5\.0\.0 service unavailable"
    r"|rejected by (?:the recipient domain|the server for the recipient domain)"
    r"|giving up on(?: [^\s]{1,60})?|(?:remote )?host (?:\S{1,120} )?said:"
    r"|(?:mail|message) return(?:ed|ing)? to sender|returning message to sender|delivery report unavailable"
    r"|(?:scanned|checked|analizado|analys[eé]|geprüft|verificado|controllato)"
    r" (?:by|with|for|con|par|mit|por|da|auf) [^\n]{0,60}(?:anti-?virus|viruses|viren|nod32)"
    r"|250[ -]8bitmime|the following header fields|report this (?:e-?mail|message|mail) as (?:spam|junk)"
    r"|informaci[oó]n de nod32[^\n_]{0,80}"
)
_NUMBERS: Final = re.compile(
    r"(?<![\w.])[245]\d\d[ -](?:#?[245]\.\d{1,3}\.\d{1,3})?|(?<![\d.])#?[245]\.\d{1,3}\.\d{1,3}(?![\d.])"
)

_NO_HOST: Final = re.compile(r"(?:^| )[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,6} does not exist")
# RFC 5321's own words for 550, which many say first whatever they mean: what follows decides.
_WHATEVER: Final = "requested action not taken: mailbox unavailable"


def plain_words(text: str, recipient: str | None = None) -> str:
    """The text as it is looked at: lower case, one blank between words, without codes; addresses go, `recipient` is @."""
    bounded = text[:WORDS_MOST].lower()
    if recipient and "@" in recipient:
        key = recipient.lower()
        bounded = bounded.replace(f"<{key}>", " @ ").replace(key, " @ ")
    words = _ADDRESS.sub(" ", _BRACKETED.sub(" ", without_noise(bounded)))
    return " ".join(_NUMBERS.sub(" ", words).split())


def without_noise(text: str) -> str:
    """The text, in lower case, without what programs say of themselves."""
    return _NOISE.sub(" ", text)


@lru_cache(maxsize=32)  # a report can say the same of a hundred recipients
def find_reason(words: str) -> BounceReason | None:
    """What these words, made plain, say; None where they say nothing that is known."""
    bare = without_recipient(words)
    if _WHATEVER not in bare:
        return _find_reason(bare, apart(words))
    telling = " ".join(bare.replace(_WHATEVER, " ").split())
    return _find_reason(telling, apart(telling)) or _R.RECIPIENT_UNKNOWN


def without_recipient(words: str) -> str:
    """The words without the sign that stands for the recipient's address."""
    return " ".join(word for word in words.split() if word != "@")


def _find_reason(words: str, said: str) -> BounceReason | None:
    if _NO_HOST.search(words):
        return _R.DOMAIN_UNKNOWN
    others = without_many(without_us(said))
    theirs = without_many(without_us(words))
    return (
        find_family(WISHES, said)
        or find_row(OURS, words)
        or find_family(RATES, said)
        or find_family(PAPERS, said)
        or find_family(ABOUT_US, said)
        or find_row(THEIRS, words)
        or find_family(US, said)
        or find_family(ABOUT_THE_MAIL, said)
        or find_family(DOMAINS, said)
        or find_row(NOBODY, theirs)
        or find_family((*RECIPIENTS, *ABOUT_RECIPIENTS), others)
        or find_family(MAILS, said)
        or find_row(PEER, words)
        or _as_relays_say(theirs)
        or find_family((*SERVERS, *AFTER_ALL, *POLICIES), said)
    )


def _as_relays_say(words: str) -> BounceReason | None:
    for known in WORDS:
        if all(needle in words for needle in known.needles):
            return RELAYS.get(known.reading.reason)
    return None


def find_row(rows: tuple[Phrases, ...], words: str) -> BounceReason | None:
    """The reason of the first row that holds in `words`."""
    padded = f" {words} "
    for row in rows:
        if any(all(part in padded for part in way) for way in row.ways):
            return row.reason
    return None
