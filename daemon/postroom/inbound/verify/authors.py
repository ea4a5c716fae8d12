"""Whether a message has one author, the one that everybody is shown (HAZARDS D5): else nobody vouches for anything.

The address is the one that the reader of people found; here is only judged whether others could find another. Comments
that do not end, brackets that do not fit and a second From, also one that is oddly written, are enough.
"""

import re
from typing import Final

from postroom.inbound.people import read_people
from postroom.inbound.verify.rawmail import RawMail


_FIELD_MOST: Final = 16 * 1024
_MARK: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|\\.|["()<>]', re.DOTALL)


def has_one_author(mail: RawMail, address: str | None) -> bool:
    """Whether there is one From with one address in it, and it is this one."""
    fields = mail.every("from")
    if address is None or len(fields) != 1 or not _is_sound(fields[0].value):
        return False
    people = read_people([fields[0].value], set())
    return len(people) == 1 and people[0].address == address


def _is_sound(value: bytes) -> bool:
    """Whether every quote and comment ends, and at most one pair of angle brackets is there."""
    depth = 0
    angles = b""
    for mark in _MARK.findall(value):
        if mark == b'"':
            return False
        depth += (mark == b"(") - (mark == b")")
        if depth < 0:
            return False
        if not depth and mark in {b"<", b">"}:
            angles += mark
    return depth == 0 and angles in {b"", b"<>"} and len(value) <= _FIELD_MOST
