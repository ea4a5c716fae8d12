"""The digest of a body is dkimpy's, piece by piece, and costs no more on hostile bodies."""

import hashlib
from itertools import pairwise

import pytest
from dkim.canonicalization import Relaxed, Simple
from hypothesis import given
from hypothesis import strategies as st

from postroom.inbound.verify.bodydigest import digest_body


_WAYS = {True: Relaxed, False: Simple}
_BODY = st.lists(
    st.sampled_from([b"a", b"b", b" ", b"\t", b"\r\n", b"\r\n\r\n", b"\r", b"\n", b"  \t "]),
    max_size=40,
).map(b"".join)


@given(_BODY, st.lists(st.integers(0, 60), max_size=6), st.booleans())
def test_it_is_that_of_dkimpy(body: bytes, cuts: list[int], is_relaxed: bool) -> None:  # noqa: FBT001
    # Every mail that comes over SMTP ends with a line end.
    lines = (body + b"\r\n").replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    expected = _WAYS[is_relaxed].canonicalize_body(lines)
    places = [0, *sorted(cuts), len(body) + 2]
    pieces = [(body + b"\r\n")[a:b] for a, b in pairwise(places)]
    found = digest_body(pieces, is_relaxed=is_relaxed)
    assert found.length == len(expected)
    assert found.digest == hashlib.sha256(expected).digest()


@pytest.mark.parametrize("is_relaxed", [True, False], ids=["relaxed", "simple"])
@pytest.mark.parametrize(
    "unit",
    [b" ", b"\t ", b"\r\n", b"\n", b"\r", b" \r\n", b"a ", b"a  ", b"a \t", b" \r"],
    ids=repr,
)
def test_a_hostile_body_of_ten_megabytes_is_no_trouble(unit: bytes, is_relaxed: bool) -> None:  # noqa: FBT001
    """dkimpy needs the square of a run of spaces: an hour for such a body."""
    piece = unit * (65_536 // len(unit))
    digest_body([piece] * 160, is_relaxed=is_relaxed)


def test_line_ends_at_the_end_do_not_count_however_many() -> None:
    many = digest_body([b"text\r\n", *[b"\r\n" * 30_000] * 10], is_relaxed=False)
    assert many == digest_body([b"text\r\n"], is_relaxed=False)


def test_line_ends_in_the_middle_do_count() -> None:
    found = digest_body([b"a\r\n", b"\r\n" * 30_000, b"b\r\n"], is_relaxed=False)
    assert found.length == len(b"a\r\nb\r\n") + 60_000
