"""Octets to text: the declared charset under its real name, else UTF-8, else Windows-1252 (HAZARDS §2.4, 5).

Nothing here raises: what can not be read becomes U+FFFD, and a defect says so.
"""

import codecs
from functools import lru_cache
from typing import Final

from postroom.inbound.defects import Defect


# What senders write, and what they mean by it. Supersets stand for their subsets, as browsers read them.
_ALIASES: Final = {
    "ascii": None,
    "us-ascii": None,
    "ansi_x3.4-1968": None,
    "binary": None,
    "unknown": None,
    "x-unknown": None,
    "unknown-8bit": None,
    "default": None,
    "cp-850": "cp850",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "iso8859-1": "cp1252",
    "iso-8859-8-i": "iso-8859-8",
    "iso-8859-8-e": "iso-8859-8",
    "iso-8859-6-i": "iso-8859-6",
    "iso-8859-6-e": "iso-8859-6",
    "iso-8859-9": "cp1254",
    "ks_c_5601-1987": "cp949",
    "ks_c_5601": "cp949",
    "ksc5601": "cp949",
    "euc-kr": "cp949",
    "gb2312": "gb18030",
    "gb_2312-80": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "windows-874": "cp874",
    "tis-620": "cp874",
    "unicode-1-1-utf-7": "utf-7",
    "unicode-1-1-utf-8": "utf-8",
    "x-utf-8": "utf-8",
    "utf8mb4": "utf-8",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "iso-2022-jp": "iso2022_jp_3",
    "x-euc-jp": "euc_jp",
    "big5": "cp950",
    "x-mac-roman": "mac_roman",
    "macintosh": "mac_roman",
}
# Codecs that are no charsets of mail; one of them takes quadratic time.
_UNFIT: Final = frozenset(
    {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "unicode_escape"}
    | {"raw_unicode_escape", "mbcs", "oem", "utf-8-sig", "utf_8_sig"}
)
_SHIFT: Final = b"\x1b$"  # ISO 2022, in Japanese mail that does not say so
_NAME_MOST: Final = 40


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
    name = charset.strip().strip("\"'").lower()
    if not name or len(name) > _NAME_MOST or not name.isascii() or not name.isprintable():
        return None
    wanted = _ALIASES.get(name, name)
    if wanted is None or wanted.replace("_", "-") in _UNFIT:
        return None
    try:
        found = codecs.lookup(wanted)
        b"a".decode(found.name, errors="replace")  # LookupError for codecs that make no text
    except (LookupError, UnicodeError, ValueError):
        return None
    return None if found.name in _UNFIT else found.name


def _is_nameless(charset: str) -> bool:
    """Whether it is ASCII by one of its names, or nothing: then ASCII octets need no guess."""
    name = charset.strip().strip("\"'").lower()
    return not name or (name in _ALIASES and _ALIASES[name] is None)


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
