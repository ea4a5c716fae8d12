"""The settings of `postroom-sendmail`: what is shipped, what the manual says, what the environment may say."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from postroom.cli.sendmail.__main__ import main
from postroom.cli.sendmail.settings import Settings, read_settings
from support.config_files import ROOT


NAMES = {one.name for one in fields(Settings)}


def _uncommented(folder: Path) -> str:
    shipped = (ROOT / "config" / "sendmail.toml").read_text("utf-8")
    place = folder / "sendmail.toml"
    place.write_text(re.sub(r"(?m)^#(?=[a-z])", "", shipped), "utf-8")
    return str(place)


def test_the_shipped_file_has_every_setting_and_sets_none(tmp_path: Path) -> None:
    assert read_settings(str(ROOT / "config" / "sendmail.toml"), {}) == Settings()
    found = read_settings(_uncommented(tmp_path), {})
    assert found == Settings("system", "ops@example.com", "/run/postroom/api.sock")


def test_the_manual_has_every_setting() -> None:
    page = (ROOT / "docs" / "operating.md").read_text("utf-8")
    table = page.partition("\n| sendmail setting | means |\n")[2].partition("\n\n")[0]
    assert set(re.findall(r"(?m)^\| `(\w+)` \|", table)) == NAMES


@pytest.mark.parametrize(
    ("environ", "name", "value"),
    [
        ({"POSTROOM_MAILBOX": "other"}, "mailbox", "other"),
        ({"POSTROOM_MAILBOX": ""}, "mailbox", "system"),
        ({"POSTROOM_SOCKET": "/x"}, "socket", "/x"),
    ],
    ids=["a mailbox", "an empty one", "a socket"],
)
def test_the_environment_comes_first(
    environ: dict[str, str], name: str, value: str, tmp_path: Path
) -> None:
    assert getattr(read_settings(_uncommented(tmp_path), environ), name) == value


WRONG = [
    ("colour = 'red'", "there is no setting colour"),
    ("mailbox = 1", "mailbox must be a string"),
    ("mailbox", "it is not TOML"),
    (None, "there is no such file"),
]


@pytest.mark.parametrize(("written", "told"), WRONG, ids=[row[1] for row in WRONG])
def test_settings_that_are_wrong_are_said_to_be(
    written: str | None, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "sendmail.toml"
    if written is not None:
        place.write_text(written)
    assert main(["-C", str(place), "-t"]) == 78
    assert f"{place}: {told}" in capsys.readouterr().err


def test_settings_that_can_not_be_read_are_said_to_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-C", str(tmp_path), "-t"]) == 78
    assert "it can not be read" in capsys.readouterr().err
