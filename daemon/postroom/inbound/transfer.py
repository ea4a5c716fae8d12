"""The content of a part: transfer encodings undone (RFC 2045 §6), damage and nonsense survived."""

import binascii
from typing import Final

from postroom.inbound.defects import Defect
from postroom.inbound.mimeparts import Part


_IDENTITY: Final = frozenset({"", "7bit", "8bit", "binary"})
_QUAD: Final = 4
_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WHITE: Final = b" \t\r\n\x0b\x0c"
_STRANGE: Final = bytes(set(range(256)) - set(b"%s%s0123456789+/=" % (_LETTERS, _LETTERS.lower())))
_RUNS_MOST: Final = 1000  # more of them are made to cost memory


def read_content(raw: bytes, part: Part, defects: set[Defect]) -> bytes:
    """The octets of a part. An encoding that nobody knows is none (HAZARDS A10)."""
    content = raw[part.start : part.end]
    declared = part.head.first("content-transfer-encoding") or b""
    encoding = (
        b"".join(declared[:100].partition(b";")[0].split()).lower().decode("ascii", "replace")
    )
    if encoding == "base64":
        return _from_base64(content, defects)
    if encoding in {"quoted-printable", "quotedprintable"}:
        return binascii.a2b_qp(content)
    if encoding not in _IDENTITY:
        defects.add(Defect.TRANSFER_ENCODING_UNKNOWN)
    return content


def _from_base64(content: bytes, defects: set[Defect]) -> bytes:
    plain = content.translate(None, _WHITE)
    try:
        return binascii.a2b_base64(plain, strict_mode=True)
    except binascii.Error:
        defects.add(Defect.BASE64_DAMAGED)
    # Runs between padding are whole for themselves; a quad cut short gives what it has.
    *runs, last = plain.translate(None, _STRANGE).split(b"=", _RUNS_MOST)
    return b"".join(_decoded(run) for run in [*runs, last.replace(b"=", b"")])


def _decoded(run: bytes) -> bytes:
    usable = len(run) if len(run) % _QUAD != 1 else len(run) - 1
    return binascii.a2b_base64(run[:usable] + b"=" * (-usable % _QUAD))
