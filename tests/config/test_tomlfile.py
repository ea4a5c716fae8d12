"""A settings file that would take the parser for ever is refused before it is parsed, and no other is."""

from pathlib import Path

import pytest

from postroom.cli.tree import main
from postroom.config.tomlfile import read_toml
from support.config_files import problems_of, write_settings


LONG = ".".join(["a"] * 50_000)
TRAPS = {
    "a key": f"{LONG} = 1",
    "a table": f"[{LONG}]",
    "a list of tables": f"[[mailbox]]\n[[mailbox.{LONG}]]",
    "within a table of one line": f"x = {{ {LONG} = 1 }}",
    "with blanks": " \t. ".join(["a"] * 65) + " = 1",
    "in quotes": ".".join(['"a b"', "'c'"] * 33) + " = 1",
    "of 65 parts": ".".join(["part-1"] * 65) + " = 1",
}
FINE = {
    "64 parts": ".".join(["a"] * 64) + " = 1",
    "a long domain": f'x = ["{".".join(["label"] * 60)}.example"]',
    "dots": f"# {'. ' * 500}\nx = '{'.' * 500}'",
    "one long key": f"{'a' * 100_000} = 1",
    "a list": f"x = [{'1.5, ' * 1000}]",
}
SLOW_TO_LOOK_AT = {
    "letters": "a" * (1 << 20),
    "quotes": "'\"" * (1 << 19),
    "an open quotation": '"' + "a" * (1 << 20),
    "dotted in quotes": ('"' + "a." * 63 + '"\n') * (1 << 12),
    "blanks": "a" + " " * (1 << 20) + "a",
    "dots and blanks": "a. " * 60 + " " * (1 << 20),
}


@pytest.mark.parametrize("text", TRAPS.values(), ids=TRAPS)
def test_a_key_of_very_many_parts_is_said_with_its_line(text: str, tmp_path: Path) -> None:
    (problem,) = problems_of(write_settings(tmp_path, f"# first\n{text}\n"))
    assert problem.wrong.startswith("is not TOML: a key of more than 64 parts (at line ")
    assert len(problem.line) < 500


@pytest.mark.parametrize("text", FINE.values(), ids=FINE)
def test_what_has_as_many_dots_otherwise_is_read(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    assert read_toml(path) is not None


@pytest.mark.parametrize("text", SLOW_TO_LOOK_AT.values(), ids=SLOW_TO_LOOK_AT)
def test_to_look_for_such_a_key_takes_no_longer_than_the_file_is_long(
    text: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"\w"):
        read_toml(path)


@pytest.mark.parametrize(
    "text", [f"{LONG} = 1", "x = " + "[" * 5_000, "#" * (5 << 20)], ids=["key", "depth", "size"]
)
def test_a_verb_that_looks_for_its_socket_there_says_it_too(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.toml").write_text(text)
    assert main(["status", "--config", str(tmp_path / "p.toml")]) == 64
    told = capsys.readouterr().err
    assert "p.toml" in told
    assert len(told) < 1_000
