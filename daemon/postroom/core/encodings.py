"""How text becomes 7-bit lines: quoted-printable, base64, encoded words, parameters, and the folding of headers.

RFC 2045 (bodies), RFC 2047 (encoded words), RFC 2231 (parameters), RFC 5322 §2.2.3 (folding). Lines fold at 78 where
there is a place to, and never exceed 998. Values come in checked: no control characters and no surrogates. Only
addresses may bring characters beyond ASCII into a header (RFC 6532).
"""

import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from string import ascii_letters, digits
from typing import Final
from urllib.parse import quote


FOLD_AT: Final = 78
# RFC 5322 §2.1.1: a line has at most 998 octets, so a word that can not be folded must leave room for its name.
WORD_MOST: Final = 900
# RFC 2047 §2: an encoded word has at most 75 characters, 12 of which are its frame.
_ENCODED_ROOM: Final = 75 - len("=?utf-8?q??=")
_PARAMETER_ROOM: Final = 60
_BASE64_LINE: Final = 76

_WORD: Final = re.compile(" *[^ ]+")
_ATOMS: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?: [A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
# RFC 2047 §5 (3): what may stand for itself in every place where an encoded word may stand.
_Q_CHARACTERS: Final = {one: one for one in f"{ascii_letters}{digits}!*+-/"} | {" ": "_"}
# RFC 2231 §7 attribute-char, in the terms of `quote`, which never touches letters, digits and "_.-~".
_ATTRIBUTE_SAFE: Final = "!#$&+^`{|}~"


def encode_text(text: str) -> tuple[str, bytes]:
    """The transfer encoding that is shorter for this text, and its lines; each ends in CRLF, the last one too."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    content = lines.replace("\n", "\r\n").encode()
    if not content.endswith(b"\r\n"):
        content += b"\r\n"
    quoted = binascii.b2a_qp(content)
    if len(quoted) <= base64_size(len(content)):
        return "quoted-printable", quoted
    return "base64", encode_base64(content)


def encode_base64(content: bytes) -> bytes:
    """Base64 in CRLF lines of 76 (RFC 2045 §6.8)."""
    plain = binascii.b2a_base64(content, newline=False)
    lines = (plain[at : at + _BASE64_LINE] for at in range(0, len(plain), _BASE64_LINE))
    return b"".join(line + b"\r\n" for line in lines)


def base64_size(size_bytes: int) -> int:
    """How many bytes `encode_base64` makes of so many."""
    plain = (size_bytes + 2) // 3 * 4
    return plain + 2 * ((plain + _BASE64_LINE - 1) // _BASE64_LINE)


def text_header(name: str, value: str) -> bytes:
    """A header of free text: as it is where it can be, else all of it in encoded words."""
    line = f"{name}: {value}"
    if _is_plain(value):
        if len(line) <= FOLD_AT:
            return f"{line}\r\n".encode("ascii")
        words = _WORD.findall(f" {value}")
        if max(map(len, words)) <= WORD_MOST + len(" "):
            return _folded(f"{name}:", words)
    return f"{name}: {encoded_words(value, len(name) + 2)}\r\n".encode("ascii")


def address_header(name: str, addresses: Iterable[tuple[str, str]]) -> bytes:
    """A header of addresses, each a display name (may be empty) and an addr-spec."""
    items = [f" {_mailbox(*one)}," for one in addresses]
    items[-1] = items[-1][:-1]
    return _folded(f"{name}:", items)


def ids_header(name: str, ids: Iterable[str]) -> bytes:
    """A header of Message-IDs, which are never encoded and never cut (HAZARDS A3)."""
    return _folded(f"{name}:", [f" {one}" for one in ids])


def encoded_words(text: str, used: int) -> str:
    """The text as encoded words, one a line of at most 76; the first has `used` characters before it."""
    quoted = [_Q_CHARACTERS.get(one) or _q_encoded(one) for one in text]
    octets = [len(one.encode()) for one in text]
    if sum(map(len, quoted)) <= base64_size(sum(octets)):
        spans = _packed([len(one) for one in quoted], _ENCODED_ROOM - used, _ENCODED_ROOM)
        words = [f"=?utf-8?q?{''.join(quoted[start:end])}?=" for start, end in spans]
    else:
        # Four characters of base64 carry three octets.
        spans = _packed(octets, (_ENCODED_ROOM - used) // 4 * 3, _ENCODED_ROOM // 4 * 3)
        words = [f"=?utf-8?b?{_b_encoded(text[start:end])}?=" for start, end in spans]
    return "\r\n ".join(words)


def parameter(name: str, value: str) -> str:
    """A MIME parameter with what separates it from the one before, on lines of its own; RFC 2231 where it must be."""
    if _is_plain(value) and "  " not in value and len(value) <= _PARAMETER_ROOM:
        return f';\r\n {name}="{_quoted(value)}"'
    encoded = quote(value, safe=_ATTRIBUTE_SAFE)
    if len(encoded) <= _PARAMETER_ROOM - len("utf-8''"):
        return f";\r\n {name}*=utf-8''{encoded}"
    pieces = _pieces(f"utf-8''{encoded}")
    return "".join(f";\r\n {name}*{at}*={piece}" for at, piece in enumerate(pieces))


def _mailbox(name: str, address: str) -> str:
    if not name:
        return address
    if _is_plain(name) and len(name) <= _ENCODED_ROOM:
        phrase = name if _ATOMS.fullmatch(name) else f'"{_quoted(name)}"'
    else:
        phrase = encoded_words(name, len("Reply-To: "))
    last = phrase.rpartition("\n")[2]
    gap = " " if len(last) + len(address) + len("  <>,") <= FOLD_AT else "\r\n "
    return f"{phrase}{gap}<{address}>"


def _is_plain(value: str) -> bool:
    """Whether readers will see this text as it is: ASCII, nothing like an encoded word, no space that gets lost."""
    return value.isascii() and "=?" not in value and value == value.strip(" ")


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _folded(start: str, items: Iterable[str]) -> bytes:
    """The items, each of which begins with a space, on as few lines as hold them; the first stays on the first line.

    An item may have line ends of its own: what has to fit is its first line, behind the last line so far.
    """
    written = start
    length = len(start)
    for item in items:
        first, _, rest = item.partition("\r\n")
        if written is not start and length + len(first) > FOLD_AT:
            written += "\r\n"
            length = 0
        written += item
        length = len(item.rpartition("\n")[2]) if rest else length + len(first)
    return f"{written}\r\n".encode()


def _packed(sizes: Sequence[int], first_room: int, room: int) -> Iterator[tuple[int, int]]:
    """Spans of neighbours whose sizes fit the room, at least one in each."""
    start = 0
    left = first_room
    for at, size in enumerate(sizes):
        if size > left and at > start:
            yield start, at
            start = at
            left = room
        left -= size
    yield start, len(sizes)


def _pieces(encoded: str) -> Iterator[str]:
    """Percent-encoded text in lengths that fit a line, no escape torn apart."""
    at = 0
    while at < len(encoded):
        torn = encoded.find("%", at + _PARAMETER_ROOM - 2, at + _PARAMETER_ROOM)
        end = at + _PARAMETER_ROOM if torn < 0 else torn
        yield encoded[at:end]
        at = end


def _q_encoded(character: str) -> str:
    return "".join(f"={octet:02X}" for octet in character.encode())


def _b_encoded(text: str) -> str:
    return binascii.b2a_base64(text.encode(), newline=False).decode("ascii")
