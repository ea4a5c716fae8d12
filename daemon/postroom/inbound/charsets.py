"""Octets to text: the declared charset under its real name, else UTF-8, else Windows-1252 (HAZARDS §2.4, 5).

Nothing here raises: what can not be read becomes U+FFFD, and a defect says so.
"""

import codecs
import encodings
import pkgutil
import re
from encodings.aliases import aliases
from functools import lru_cache
from typing import Final

from postroom.inbound.defects import Defect


# What senders write, and what they mean by it, where Python does not know the name. None = it says nothing.
_ALIASES: Final = {
    "binary": None,
    "unknown": None,
    "unknown-8bit": None,
    "default": None,
    "none": None,
    "iso-8859-8-i": "iso8859_8",
    "iso-8859-8-e": "iso8859_8",
    "iso-8859-6-i": "iso8859_6",
    "iso-8859-6-e": "iso8859_6",
    "latin-9": "iso8859_15",
    "ks_c_5601": "cp949",
    "gb_2312-80": "gb18030",
    "tis-620": "cp874",
    "unicode-1-1-utf-7": "utf_7",
    "unicode-1-1-utf-8": "utf_8",
    "unicode": "utf_16",
    "utf8mb4": "utf_8",
    "sjis": "cp932",
    "windows-31j": "cp932",
    "euc-jp": "euc_jp",
    "mac-roman": "mac_roman",
}
# Supersets stand for their subsets, as browsers read them.
_READ_AS: Final = {
    "ascii": None,
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "iso2022_jp": "iso2022_jp_3",
    "big5": "cp950",
    "utf-8-sig": "utf-8",
}
# Codecs that are no charsets of mail; one of them takes quadratic time.
_UNFIT: Final = frozenset(
    {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"}
)
_BLANK: Final = re.compile(r"[\s_:-]+")
_PAGE: Final = re.compile(r"(?:cp|ibm|windows|win|ms|dos|codepage)(\d{3,5})")
_SHIFT: Final = b"\x1b$"  # ISO 2022, in Japanese mail that does not say so
_NAME_MOST: Final = 40


def _squeezed(name: str) -> str:
    return _BLANK.sub("", name)


# Everything that is known, without what sets the pieces of a name apart. Python is asked for nothing else: it keeps every
# name that it was ever asked for, and strangers make up as many as they like.
_NAMES: Final[dict[str, str | None]] = {
    **{_squeezed(one.name): one.name for one in pkgutil.iter_modules(encodings.__path__)},
    **{_squeezed(name): codec for name, codec in aliases.items()},
    **{_squeezed(name): codec for name, codec in _ALIASES.items()},
}


def decode(raw: bytes, charset: str | None) -> tuple[str, Defect | None]:
    """The text, and what was wrong: CHARSET_GUESSED, CHARSET_ERRORS or nothing."""
    codec = None if charset is None else find_codec(charset)
    if codec is None:
        is_plain = raw.isascii() and _SHIFT not in raw
        if is_plain and (charset is None or _is_nameless(charset)):
            return raw.decode("ascii"), None
        return _guess(raw), Defect.CHARSET_GUESSED
    try:
        return raw.decode(codec), None
    except UnicodeError:
        return raw.decode(codec, errors="replace"), Defect.CHARSET_ERRORS


@lru_cache(maxsize=256)
def find_codec(charset: str) -> str | None:
    """The name of the codec for a charset as declared; None = none, or one that says nothing (ASCII, unknown)."""
    name = _plain(charset)
    if not name or len(name) > _NAME_MOST or not name.isascii() or not name.isprintable():
        return None
    page = _PAGE.fullmatch(name)
    wanted = _NAMES.get(name) or (_NAMES.get(f"cp{page[1]}") if page else None)
    if wanted is None or wanted in _UNFIT:
        return None
    try:
        found = codecs.lookup(wanted).name
        b"a".decode(found, errors="replace")  # LookupError for codecs that make no text
    except (LookupError, UnicodeError, ValueError):
        return None
    return _READ_AS.get(found, found)


def _is_nameless(charset: str) -> bool:
    """Whether it is ASCII by one of its names, or nothing: then ASCII octets need no guess."""
    name = _plain(charset)
    return not name or _NAMES.get(name, "") in {None, "ascii"}


def _plain(charset: str) -> str:
    return _squeezed(charset.strip(" \t\r\n\"';,").lower()).removeprefix("x")


def _guess(raw: bytes) -> str:
    if _SHIFT in raw:
        try:
            return raw.decode("iso2022_jp_3")
        except UnicodeError:
            pass
    try:
        return raw.decode("utf-8")
    except UnicodeError:
        return raw.decode("cp1252", errors="replace")
