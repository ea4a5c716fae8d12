"""Names of charsets as they are written, and what a stranger's names may not do."""

import encodings

import pytest

from postroom.inbound.charsets import decode, find_codec
from postroom.inbound.defects import Defect


SPELLED = {
    "utf-8": "utf-8", "UTF8": "utf-8", "utf 8": "utf-8", '"utf-8";': "utf-8", "x-utf-8": "utf-8", "utf-8-sig": "utf-8",
    "latin1": "cp1252", "iso-8859-1": "cp1252", "ISO_8859-1:1987": "cp1252", "iso-8859-9": "cp1254", "l1": "cp1252",
    "cp-850": "cp850", "ibm-850": "cp850", "windows-1252": "cp1252", "x-cp1252": "cp1252", "cp-1252": "cp1252",
    "windows-936": "gb18030", "gb2312": "gb18030", "x-gbk": "gb18030", "ks_c_5601-1987": "cp949", "euc-kr": "cp949",
    "shift-jis": "cp932", "x-sjis": "cp932", "windows-31j": "cp932", "iso-2022-jp": "iso2022_jp_3", "big5": "cp950",
    "iso-8859-8-i": "iso8859-8", "iso8859-8-e": "iso8859-8", "windows-874": "cp874", "tis-620": "cp874",
    "unicode-1-1-utf-7": "utf-7", "macintosh": "mac-roman", "koi8-r": "koi8-r", "latin-9": "iso8859-15",
}  # fmt: skip
NONE = [
    "", "us-ascii", "ANSI_X3.4-1968", "binary", "unknown-8bit", "x-unknown", "x-no-such", "idna", "punycode", "rot13", "base64",
    "zlib", "bz2", "unicode_escape", "raw-unicode-escape", "undefined", "mbcs", "aliases", "../utf_8", "utf_8\0", "é", "a" * 500,
]  # fmt: skip


@pytest.mark.parametrize(("name", "codec"), SPELLED.items())
def test_a_charset_is_known_however_it_is_spelled(name: str, codec: str) -> None:
    assert find_codec(name) == codec


@pytest.mark.parametrize("name", NONE, ids=ascii)
def test_what_is_no_charset_of_mail_is_guessed(name: str) -> None:
    assert find_codec(name) is None
    assert decode(b"caf\xc3\xa9", name) == ("café", Defect.CHARSET_GUESSED)


def test_names_that_strangers_make_up_are_kept_nowhere() -> None:
    known = len(vars(encodings)["_cache"])
    for number in range(2000):
        find_codec(f"x-made-up-{number}")
    assert len(vars(encodings)["_cache"]) == known
    assert find_codec.cache_info().currsize <= 256
