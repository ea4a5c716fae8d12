"""Every dialogue in tests/dialogues ends as its file says."""

from pathlib import Path

import pytest

from support.dialogues import Authority, Stage, agrees, read_script


FILES = sorted((Path(__file__).resolve().parent.parent / "dialogues").glob("*.txt"))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_a_dialogue_ends_as_its_file_says(path: Path, authority: Authority) -> None:
    script = read_script(path)
    stage = Stage(script, authority)
    told = await stage.play()
    assert stage.problems == []
    for expected, line in zip(script.expected, told, strict=True):
        assert agrees(expected, line), f"expected {expected}\nbut got  {line}"
