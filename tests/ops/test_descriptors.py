"""How many files may be open, and how they are shared out."""

import resource
from collections.abc import Iterator

import pytest

from postroom.ops.descriptors import Shares, share, take_descriptors


@pytest.fixture
def hard() -> Iterator[int]:
    """The hard limit of this process, whose soft one is low."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    yield before[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_limit_is_raised_as_far_as_it_goes(hard: int) -> None:
    most = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    assert take_descriptors() == share(most)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, hard)
    assert take_descriptors() == share(most)


@pytest.mark.parametrize(
    ("limit", "shares"),
    [
        (8192, Shares(4064, 2032)),
        (1024, Shares(480, 240)),
        (256, Shares(96, 48)),
        (16, Shares(4, 4)),
    ],
)
def test_no_door_takes_what_the_store_and_the_relays_need(limit: int, shares: Shares) -> None:
    assert share(limit) == shares
