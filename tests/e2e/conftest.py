from collections.abc import Iterator

import pytest

from postroom.selftest.nursery import Nursery
from support.nursery import COMMAND


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    made = Nursery(COMMAND)
    yield made
    made.close()
