"""Reports in plain words: whom they name, what is said of each, and whether the mail is given up or still tried.

A third of real reports has no field at all. Where the words name nobody, the one block has no recipient: it is believed
only where a return-path token says whose delivery it is.
"""

import re
from dataclasses import dataclass
from typing import Final

from postroom.core.subject import AUTOMATIC
from postroom.inbound.awaywords import ABSENT, AWAY
from postroom.inbound.reportforms import (
    ARRIVED,
    BOUNCED,
    FORMS,
    NOT_ARRIVED,
    QUOTED_HEADER,
    REJECTED,
    REPORTS,
    RETURNED,
    SENDER,
    STILL_TRIED,
    Form,
    Said,
)


@dataclass(frozen=True, slots=True)
class Named:
    """An address, and the words that speak of it."""

    address: str
    words: str


WORDS_MOST: Final = 16 * 1024  # of a report in plain words: below stands the mail that came back
_NAMED_MOST: Final = 100
_ABOVE_MOST: Final = 1000
_PAIR: Final = re.compile(r"(?<![\d.])([245]\d\d)[ :'#(-]{1,4}([245]\.\d{1,3}\.\d{1,3})(?![\d.])")
_STATUS: Final = re.compile(r"(?<![\d./])([245]\.\d{1,3}\.\d{1,3})(?![\d.])")
_CODE: Final = re.compile(
    r"(?:^|problem|said:|<<<|>>>|reason:|smtp;|code ?:|responsecode|[:,\]>'#-])[ \t\r\n']{0,8}(25\d|[45][0-5]\d)(?=[ :,-]|\r?$)",
    re.MULTILINE | re.IGNORECASE,
)
_CHAPTER: Final = re.compile(r"rfc[ -]?\d{3,4},?(?: section)? \d[\d.]{0,12}", re.IGNORECASE)
_SMTP_REFUSAL: Final = re.compile(r"(?<![\d.-])5[0-5]\d[ -](?:5\.\d|[A-Za-z<#])")
_STILL_TRIED: Final = re.compile(STILL_TRIED, re.IGNORECASE)
_ENDED: Final = re.compile("fail|undeliver|returned", re.IGNORECASE)
_ARRIVED: Final = re.compile(ARRIVED, re.IGNORECASE)
_NOT_ARRIVED: Final = re.compile(NOT_ARRIVED, re.IGNORECASE)
_GIVEN_UP: Final = re.compile(BOUNCED, re.IGNORECASE)
_AWAY: Final = re.compile(rf"{AWAY}|(?:{AUTOMATIC})\s?[:\uff1a]", re.IGNORECASE)
_ABSENT: Final = re.compile(rf"{ABSENT}|out of (?:the )?office", re.IGNORECASE)
_REPORTED: Final = re.compile(REPORTS, re.IGNORECASE)
_REJECTED: Final = re.compile(REJECTED, re.IGNORECASE)
_AWAY_ACTION: Final = "auto-replied"
# Those that there are (RFC 5321, 4954, 7504 and what is registered): a server's own inventions say nothing.
_CODES: Final = frozenset(
    {250, 251, 252, 421, 432, 450, 451, 452, 454, 455, 458, 459}
    | {500, 501, 502, 503, 504, 510, 511, 512, 521, 523, 525, 530, 534, 535, 538}
    | {550, 551, 552, 553, 554, 555, 556, 557}
)
_GENERAL: Final = re.compile(r"[245]\.0\.0|4\.4\.7")


def above_the_original(text: str) -> str:
    """The report's own words."""
    found = RETURNED.search(text, 1)
    return QUOTED_HEADER.sub("\n", text[: found.start()] if found else text)


def find_named(words: str, not_these: frozenset[str]) -> tuple[Named, ...]:
    """Those whom the words name, each with what is said of it."""
    words = SENDER.sub(" ", words)
    for form in FORMS:
        found = [
            one
            for one in form.line.finditer(words)
            if one[1].strip(".").casefold() not in not_these
        ][:_NAMED_MOST]
        if found:
            return _split(words, form, found)
    return ()


def find_numbers(text: str, status: str | None) -> tuple[str | None, int | None]:
    """The status and the reply code that say most: `status`, unless it is general; a code of another class is none."""
    text = _CHAPTER.sub(" ", text)
    pairs = [(int(one), two) for one, two in _PAIR.findall(text) if one[0] == two[0]]
    telling = next((pair for pair in pairs if not is_general(pair[1])), None)
    code, paired = telling or (pairs[0] if pairs else (None, None))
    if code is None:
        alone = _CODE.search(text)
        code = int(alone[1]) if alone else None
    code = code if code in _CODES else None
    if paired is None:
        only = _STATUS.search(text)
        paired = only[1] if only else None
    if is_general(status) and paired is not None:
        status = paired
    if code is not None and status is not None and paired is not None and status[1:] == paired[1:]:
        status = paired  # some write a refusal as 4.y.z because they went on trying
    if status is not None and code is not None and not str(code).startswith(status[0]):
        code = None
    return status, code


def is_general(status: str | None) -> bool:
    """Whether a status says no more than its class, or only that it took too long."""
    return status is None or _GENERAL.fullmatch(status) is not None


def is_worded(subject: str, body: str) -> bool:
    """Whether a sentence or a server's answer says that a mail was not delivered, and none that somebody is away."""
    flat = " ".join(body.split())
    is_told = _REPORTED.search(flat) or _PAIR.search(body)
    return is_told is not None and not _AWAY.search(subject) and not _ABSENT.search(flat)


def is_rejecting(body: str) -> bool:
    """Whether the words of a receipt say that the mail was sent back."""
    return _REJECTED.search(" ".join(body.split())) is not None


def find_action(subject: str, body: str) -> str | None:
    """As `Action` would say it; None where there is no code and no word of a report."""
    if _AWAY.search(subject):
        return _AWAY_ACTION
    flat = " ".join(body.split())
    words = f"{subject}\n{flat}"
    found = _STATUS.search(words)
    status = found[1] if found else ""
    is_given_up = (
        _SMTP_REFUSAL.search(words) is not None
        or status.startswith("5")
        or _ENDED.search(subject) is not None
    )
    if not is_given_up and _ARRIVED.search(words) and not _NOT_ARRIVED.search(words):
        return "delivered"
    if _STILL_TRIED.search(words) and not is_given_up:
        return "delayed"
    is_told = _GIVEN_UP.search(subject) or _REPORTED.search(flat)
    return "failed" if is_given_up or is_told else None


def _split(words: str, form: Form, found: list[re.Match[str]]) -> tuple[Named, ...]:
    said: dict[str, list[str]] = {}
    for one, following in zip(found, [*found[1:], None], strict=True):
        end = len(words) if following is None else following.start()
        line_end = words.find("\n", one.end()) + 1 or len(words)
        above = words.rfind("\n", 0, max(0, one.start() - 1)) + 1
        span = (above, line_end) if form.said is Said.ABOVE else (one.start(), end)
        said.setdefault(one[1].strip("."), []).append(words[slice(*span)])
    if form.said is Said.AROUND and len(said) == 1:
        address, texts = next(iter(said.items()))
        before = words[max(0, found[0].start() - _ABOVE_MOST) : found[0].start()]
        return (Named(address, "\n".join([before, *texts])),)
    return tuple(Named(address, "\n".join(texts)) for address, texts in said.items())
