"""Message ids (RFC 5322 §3.6.4) as they are found: folded, encoded, in comma lists, broken, by the hundred.

An id has its brackets and is kept to the letter, for others compare it so.
"""

import re
from collections.abc import Iterable
from typing import Final

from postroom.inbound.defects import Defect
from postroom.inbound.encodedwords import decode_field


IDS_MOST: Final = 200
_FIRST_KEPT: Final = 20  # how the thread began; the rest of what is kept is its end
_ID_MOST: Final = 998  # octets: a line

_BRACKETED: Final = re.compile(r"<([^<>]*)>")
_BARE: Final = re.compile(r"[^\s<>@,;\"()]+@[^\s<>@,;\"()]+")
_UNFIT: Final = re.compile(
    "[\x00-\x20\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def read_ids(values: Iterable[bytes], defects: set[Defect]) -> tuple[str, ...]:
    """The ids of all fields of one name, each once, in their order; of many the first and the last."""
    found: dict[str, None] = {}
    for value in values:
        text = decode_field(value, defects)
        ids = _bracketed(text, defects) if "<" in text else _bare(text)
        found.update(dict.fromkeys(ids))
    ids = list(found)
    if len(ids) > IDS_MOST:
        ids = ids[:_FIRST_KEPT] + ids[_FIRST_KEPT - IDS_MOST :]
    return tuple(ids)


def find_id(values: Iterable[bytes], defects: set[Defect]) -> str | None:
    """The first id."""
    return next(iter(read_ids(values, defects)), None)


def _bracketed(text: str, defects: set[Defect]) -> list[str]:
    # Folding may have put blanks into a long id.
    inner = ["".join(one.split()) for one in _BRACKETED.findall(text)]
    kept = [f"<{one}>" for one in inner if _is_fit(one)]
    if len(kept) != text.count("<") and text.strip() != "<>":
        defects.add(Defect.ID_DAMAGED)
    return kept


def _bare(text: str) -> list[str]:
    """Ids without brackets, where there is nothing else."""
    words = text.replace(",", " ").split()
    is_list = bool(words) and all(_BARE.fullmatch(one) and _is_fit(one) for one in words)
    return [f"<{one}>" for one in words] if is_list else []


def _is_fit(inner: str) -> bool:
    return (
        bool(inner) and len(inner.encode(errors="replace")) <= _ID_MOST and not _UNFIT.search(inner)
    )
