from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.api_server import Api, running


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    async with running(tmp_path) as started:
        yield started
