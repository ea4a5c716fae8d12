"""Public ids: one form for each row, and nothing else is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.ids import REF_BITS, Kind, attachment_ref, base32, decode_id, encode_id
from postroom.core.instant import SECOND, Instant


LARGEST = (1 << 63) - 1


@pytest.mark.parametrize(
    ("kind", "number", "text"),
    [
        (Kind.JOB, 0, "job_0000000000000"),
        (Kind.DELIVERY, 31, "dlv_000000000000v"),
        (Kind.ATTEMPT, 32, "att_0000000000010"),
        (Kind.THREAD, 1023, "thr_00000000000vv"),
        (Kind.EVENT, 1024, "evt_0000000000100"),
        (Kind.LEASE, LARGEST, "lse_7vvvvvvvvvvvv"),
    ],
)
def test_an_id_is_its_kind_and_thirteen_digits(kind: Kind, number: int, text: str) -> None:
    assert encode_id(kind, number) == text
    assert decode_id(kind, text) == number


@pytest.mark.parametrize(
    "text",
    [
        "dlv_0000000000001",
        "job_000000000001",
        "job_00000000000001",
        "job_000000000000w",
        "job_000000000000V",
        "job_00000 0000001",
        "job_-000000000001",
        "job_8000000000000",
        "job_vvvvvvvvvvvvv",
        "job0000000000001",
        "job__000000000001",
        "x_job_0000000000001",
        "",
    ],
)
def test_what_is_no_id_of_its_kind_names_nothing(text: str) -> None:
    assert decode_id(Kind.JOB, text) is None


@given(st.integers(0, LARGEST), st.integers(0, LARGEST))
def test_ids_sort_as_their_numbers_do(one: int, other: int) -> None:
    assert decode_id(Kind.EVENT, encode_id(Kind.EVENT, one)) == one
    ids = encode_id(Kind.EVENT, one), encode_id(Kind.EVENT, other)
    assert (ids[0] < ids[1]) == (one < other)


def test_a_number_is_written_in_as_many_digits_as_are_asked_for() -> None:
    assert [base32(1023, length) for length in (2, 3, 4)] == ["vv", "0vv", "00vv"]
    assert base32(1024, 2) == "00"


def test_a_reference_is_its_second_and_thirty_bits_of_chance() -> None:
    at = Instant(1_796_040_000 * SECOND + SECOND - 1)
    assert REF_BITS == 30
    assert decode_id(Kind.ATTACHMENT, attachment_ref(at, 5)) == (1_796_040_000 << 30) + 5
    highest = attachment_ref(at, (1 << 30) - 1)
    assert highest < attachment_ref(Instant(at + 1), 0)
