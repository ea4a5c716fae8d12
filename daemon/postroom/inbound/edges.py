"""What programs put at the edges of what a person writes: the warning of a gateway above it, signatures below it.

A telephone's line has nothing but words that such lines are made of, so a sentence that begins like one stays (CASES
D10). Two dashes begin a signature, and so does a drawn line above what is short and has a number or an address in it.
Known limits: names and greetings without dashes stay, and so do notices of confidentiality.
"""

import re
from typing import Final

from postroom.inbound.edgewords import (
    ADVERTISED,
    ADVICE,
    APPS,
    DEVICE_FILLERS,
    DEVICE_UNSPACED,
    DEVICES,
    GETTING,
    OUTSIDE,
    OWNED,
    SENT,
    THINGS,
    UNSPACED_DEVICES,
    WARNING,
)
from postroom.inbound.headerblocks import is_rule
from postroom.inbound.quotewords import phrases
from postroom.inbound.textlines import Lines


_BANNER_LINES: Final = 12
_BANNER_MOST: Final = 1200
_DEVICE_MOST: Final = 120
_DEVICE_WORDS: Final = 16
_SIGNATURE_LINES: Final = 10
_SURE_LINES: Final = 6
_SURE_WIDTH: Final = 80
_WINDOW: Final = 40  # lines that are looked at
_CARD_LINES: Final = 8
_CARD_WIDTH: Final = 64
_LEADING: Final = "[]()*_!<>#=-~|\u26a0\ufe0f \t\u3010\u3011"
_LINK: Final = re.compile(r"<?(?:https?://|mailto:|www\.)[^\s<>]{1,500}>?")
_NAMED_LINK: Final = re.compile(r"\[([^\[\]]{1,80})\]\(https?://[^\s()]{1,400}\)")
_EXCUSE: Final = re.compile(
    r"[\s,.;\-]{1,4}(?:please |bitte )?(?:excuse|forgive|pardon|sorry|apologi|entschuldig|verzeih|disculp|scus)"
    r".{0,80}$",
    re.IGNORECASE,
)
_BETWEEN_WORDS: Final = re.compile(r"(?:[\s'\u2019.,;:!()]|-(?!\d))+")
_CARD: Final = re.compile(r"@\w|https?://|www\.|\+?\d[\d ()/.\-]{6,20}\d")
_ASKED: Final = re.compile(r"[?!](?:\s|$)|:$")  # as no card has it
_DASHES: Final = re.compile(r"(?:--|\u2014|\u2013\u2013)")
_LINE: Final = re.compile(r"[-\u2014\u2013_=*~# ]{2,200}")
_DRAWN: Final = "-\u2014\u2013_=*~#"
_FOOTER_LINES: Final = 12
_FOOTER: Final = ("you received this", "you are receiving this", "to unsubscribe", "unsubscribe")
_LISTED: Final = (
    "mailing list",
    "mailing list.",
    "mailingliste",
    "liste de diffusion",
    "mailinglijst",
)
_WARNINGS: Final = phrases(WARNING)
_BOXED: Final = ("extern", "extér", "estern", "外部", "社外", "외부", "внешн", "often get email")
_GOES_ON: Final = ("click", "link", "attachment", "learn why", "klick", "cliqu", "clic", "klik")
_OUTSIDE: Final = phrases(OUTSIDE)
_ADVICE: Final = phrases(ADVICE)
_SENT: Final = frozenset(phrases(SENT))
_DEVICES: Final = phrases(DEVICES)
_THINGS: Final = frozenset(phrases(THINGS))
_OWNED: Final = frozenset(phrases(OWNED))
_GETTING: Final = frozenset(phrases(GETTING))
_FROM_MY: Final = ("from my ", "von meinem ", "depuis mon ", "desde mi ", "dal mio ", "vanaf mijn ")
_APPS: Final = frozenset(phrases(APPS))
_FILLERS: Final = frozenset(phrases(DEVICE_FILLERS)).union(_SENT, _THINGS, _OWNED, _GETTING, _APPS)
_UNSPACED: Final = tuple(re.compile(one, re.IGNORECASE) for one in DEVICE_UNSPACED)
_UNSPACED_DEVICES: Final = _DEVICES + phrases(UNSPACED_DEVICES)
_ADVERTISED: Final = phrases(ADVERTISED)


def banner_end(lines: Lines) -> int:
    """The line behind the warning that the text begins with; 0 where it begins with none."""
    end = 0
    while (following := _one_banner(lines, end)) > end:
        end = following
    return end


def signature_start(lines: Lines, first: int, last: int) -> tuple[int, bool] | None:
    """Where a signature begins between two lines (`last` not included), and whether there is no doubt."""
    for at in range(first, last):
        bare = lines.bare[at]
        if not bare or bare[0] not in _DRAWN:
            continue
        below = [one for one in lines.bare[at + 1 : min(last, at + _WINDOW)] if one]
        size = len(below) if last <= at + _WINDOW else _WINDOW
        if _is_footer(bare, below):
            return at, True
        if _DASHES.fullmatch(bare):
            is_standard = (
                lines.text[lines.starts[at] : lines.starts[at + 1]].rstrip("\r\n") == "-- "
            )
            is_narrow = all(len(one) <= _SURE_WIDTH for one in below)
            if is_standard or size <= _SIGNATURE_LINES:
                return at, is_narrow and size <= (_SIGNATURE_LINES if is_standard else _SURE_LINES)
        elif _LINE.fullmatch(bare) and size <= _CARD_LINES and _is_card(below):
            return at, False
    return None


def device_end(lines: Lines, start: int) -> int:
    """The line behind that of a telephone which stands above everything, as an answer below it leaves it there."""
    first = _first_said(lines, start)
    if first is None or lines.is_quoted[first] or not is_device_line(lines.bare[first]):
        return start
    is_apart = not any(lines.bare[first + 1 : first + 2])
    return first + 1 if is_apart and lines.said_from(first + 2) is not None else start


def is_device_line(bare: str) -> bool:
    """Whether a program wrote this last line to say what it is or runs on."""
    unlinked = _LINK.sub(" ", _NAMED_LINK.sub(r"\1", bare[: 4 * _DEVICE_MOST]))
    folded = _EXCUSE.sub("", unlinked).casefold().strip()
    if len(bare) > 4 * _DEVICE_MOST or not 0 < len(folded) <= _DEVICE_MOST:
        return False
    plain = folded.strip("*_[]()<>-\u2013 \t")
    if plain.startswith(_ADVERTISED):
        return len(plain.split()) <= _DEVICE_WORDS // 2
    if any(one in plain for one in _UNSPACED_DEVICES) and any(
        one.fullmatch(plain.rstrip(".。")) for one in _UNSPACED
    ):
        return True
    words = [word for word in _BETWEEN_WORDS.split(plain) if word]
    known = frozenset(words)
    is_sent = bool(known & _SENT) or plain.startswith(_FROM_MY)
    is_own = any(map(_is_model, words)) or bool(known & _THINGS)
    has_device = any(word.startswith(_DEVICES) for word in words) or (is_own and known & _OWNED)
    return (
        len(words) <= _DEVICE_WORDS
        and all(word in _FILLERS or word.startswith(_DEVICES) or _is_model(word) for word in words)
        and bool((is_sent and has_device) or (known & _GETTING and known & _APPS))
    )


def _is_model(word: str) -> bool:
    """Like S23, 14, A52s."""
    return len(word) <= len("sm-a525f") and any(one.isdigit() for one in word)


def _is_footer(bare: str, below: list[str]) -> bool:
    """The end that mailing lists put under everything: what it begins with, and an address in it."""
    if not below or len(below) > _FOOTER_LINES or _LINE.fullmatch(bare) is None:
        return False
    first = below[0].casefold()
    is_told = first.startswith(_FOOTER) and not first.endswith("?")
    return (is_told or first.endswith(_LISTED)) and any(_CARD.search(one) for one in below)


def _is_card(below: list[str]) -> bool:
    """Whether lines are a visiting card: few, short, no sentence, a number or an address among them."""
    return (
        bool(below)
        and all(len(one) <= _CARD_WIDTH and not _ASKED.search(one) for one in below)
        and any(_CARD.search(one) for one in below)
    )


def _one_banner(lines: Lines, start: int) -> int:
    first = _first_said(lines, start)
    if first is not None and is_rule(lines.bare[first]):
        first = lines.said_from(first + 1)
    if first is None or not _opens(lines.bare[first]):
        return start
    said = ""
    end = first
    for at in range(first, min(first + _BANNER_LINES, len(lines.bare))):
        bare = lines.bare[at]
        is_warning = _is_warning(said)
        if lines.is_quoted[at] or len(bare) + len(said) > _BANNER_MOST:
            break
        if is_warning and not (bare and _goes_on(said, bare)):
            break
        if bare:
            said = f"{said} {bare.casefold()}"
            end = at + 1
    if not _is_warning(said):
        return start
    following = lines.said_from(end)
    return following + 1 if following is not None and is_rule(lines.bare[following]) else end


def _first_said(lines: Lines, start: int) -> int | None:
    near = range(start, min(start + _BANNER_LINES, len(lines.bare)))
    return next((at for at in near if lines.bare[at]), None)


def _opens(bare: str) -> bool:
    """Whether a warning begins so: a word alone is none, unless something is drawn around it or it is in capitals."""
    shown = bare.lstrip(_LEADING)
    opening = shown.casefold()
    for one in _WARNINGS:
        if opening.startswith(one):
            is_drawn = shown != bare or opening[len(one) :].lstrip()[:1] in set(
                ":!]*\uff1a】-\u2013"
            )
            return is_drawn or " " in one or shown[: len(one)].isupper() or not one.isascii()
    return False


def _is_warning(said: str) -> bool:
    """Whether this says that a mail is from outside, and what to be careful of."""
    is_boxed = said.strip().startswith(("[", "*", "【", "!")) and said.strip().endswith(
        ("]", "*", "】", "!")
    )
    if is_boxed and any(one in said for one in _BOXED):
        return True
    return any(one in said for one in _OUTSIDE) and any(one in said for one in _ADVICE)


def _goes_on(said: str, bare: str) -> bool:
    """Whether a warning that is one already has another line."""
    is_open = not said.rstrip().endswith((".", "!", "]", "*", "。", "】", ">", "-", "="))
    return (is_open and bare[0].islower()) or any(one in bare.casefold() for one in _GOES_ON)
