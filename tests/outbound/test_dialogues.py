"""Every dialogue in tests/dialogues ends as its file says, on both event loops that we run on."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from support.authority import Authority
from support.dialogue_stage import Stage
from support.dialogues import agrees, read_script


FILES = sorted((Path(__file__).resolve().parent.parent / "dialogues").glob("*.txt"))
LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.mark.parametrize("new_loop", LOOPS, ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_dialogue_ends_as_its_file_says(
    path: Path, new_loop: Callable[[], asyncio.AbstractEventLoop], authority: Authority
) -> None:
    script = read_script(path)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        stage, told = runner.run(_play(script, authority))
    assert stage.problems == []
    for expected, line in zip(script.expected, told, strict=True):
        assert agrees(expected, line), f"expected {expected}\nbut got  {line}"


async def _play(script, authority: Authority):
    stage = Stage(script, authority)
    return stage, await stage.play()
