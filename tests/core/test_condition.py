"""Preconditions as they stand: when they hold, and what is said of them."""

import pytest

from postroom.core.condition import Standing
from postroom.core.ids import Kind, encode_id
from postroom.core.job import Condition
from support.decide_world import at


EVENT = encode_id(Kind.EVENT, 9)


@pytest.mark.parametrize(
    ("standing", "is_true", "found", "wanted"),
    [
        pytest.param(
            Standing(Condition(None, None), 4, None, None),
            True, "thread version 4", "",
            id="nothing asked",
        ),
        pytest.param(
            Standing(Condition(4, None), 4, None, None),
            True, "thread version 4", "thread version 4",
            id="the version that was asked for",
        ),
        pytest.param(
            Standing(Condition(3, None), 4, None, None),
            False, "thread version 4", "thread version 3",
            id="another version",
        ),
        pytest.param(
            Standing(Condition(None, 8), 4, None, None),
            True, "thread version 4", f"no mail after {encode_id(Kind.EVENT, 8)}",
            id="nobody wrote",
        ),
        pytest.param(
            Standing(Condition(4, 8), 4, 9, None),
            False, f"{EVENT} came in", f"thread version 4, no mail after {encode_id(Kind.EVENT, 8)}",
            id="somebody wrote",
        ),
        pytest.param(
            Standing(Condition(4, None), 4, None, at()),
            True, "inbound_pending", "thread version 4",
            id="a mail waits to be read",
        ),
        pytest.param(
            Standing(Condition(3, None), 4, None, at()),
            False, "thread version 4", "thread version 3",
            id="a mail waits, and it is too late anyway",
        ),
    ],
)  # fmt: skip
def test_a_condition_holds_or_says_why_not(
    standing: Standing,
    is_true: bool,  # noqa: FBT001
    found: str,
    wanted: str,
) -> None:
    assert (standing.is_true, standing.found, standing.wanted) == (is_true, found, wanted)
