"""A body of millions of values is refused for their number, before it is decoded."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.api import separators
from postroom.api.separators import has_more
from support.api_server import Api
from support.clock import FakeClock


def commas(value: Any) -> int:
    """Those between the values of a document."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return 0
    return max(len(value) - 1, 0) + sum(map(commas, value))


TEXTS = st.text(alphabet=',"\\x\n')
VALUES = st.recursive(
    st.integers() | TEXTS,
    lambda one: st.lists(one) | st.dictionaries(TEXTS, one),
    max_leaves=30,
)


@given(value=VALUES, piece=st.integers(1, 9), is_loose=st.booleans())
async def test_commas_are_counted_that_stand_in_no_text(
    *, value: Any, piece: int, is_loose: bool
) -> None:
    body = json.dumps(value, separators=None if is_loose else (",", ":")).encode()
    found = commas(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(separators, "_PIECE", piece)
        assert not await has_more(body, found, FakeClock())
        assert found == 0 or await has_more(body, found - 1, FakeClock())


async def test_a_batch_of_millions_of_values_is_refused_before_it_is_decoded(api: Api) -> None:
    body = b'{"jobs":[' + b",".join([b"{}"] * 600_000) + b"no json"
    said = await api.post("/jobs/batch", data=body)
    assert (said.status, said.json["code"]) == (422, "batch_too_large")


async def test_a_text_may_have_as_many_commas_as_it_likes(api: Api) -> None:
    jobs = [{"mailbox_id": "support", "text": ',"' * 600_000}]
    said = await api.post("/jobs/batch", {"jobs": jobs})
    assert said.status == 200
