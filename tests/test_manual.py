"""The manual pages: what they tell is what there is, and those who show them have nothing to say against them."""

import os
import re
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from postroom.cli.exits import Exit
from postroom.cli.sendmail.options import _ALONE, _VALUE_BEHIND, _WITH_VALUE
from postroom.cli.sendmail.settings import Settings
from postroom.cli.tree import root
from postroom.cli.wordtree import spots
from support.config_files import ROOT, with_every_setting
from support.manual import PAGES, command_page, prose, read_sections, settings_page
from support.peers import needs_peer


WRITTEN = sorted(PAGES.iterdir())
MADE = {"postroom.1": command_page, "postroom.toml.5": settings_page}


def _page(name: str) -> str:
    return (PAGES / name).read_text("utf-8")


def _shown(page: Path) -> str:
    done = subprocess.run(
        [needs_peer("mandoc"), "-T", "ascii", str(page)], capture_output=True, text=True, check=True
    )
    return re.sub(".\b", "", done.stdout)


@pytest.mark.parametrize(("name", "make"), MADE.items(), ids=MADE)
def test_a_page_is_what_is_made_from_the_code(name: str, make: Callable[[], str]) -> None:
    if os.environ.get("POSTROOM_GOLDEN") == "write":
        (PAGES / name).write_text(make(), "utf-8")
    assert _page(name) == make()


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_mandoc_finds_nothing_wrong_with_a_page(page: Path) -> None:
    argv = [needs_peer("mandoc"), "-T", "lint", str(page)]
    said = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    # whether the other pages are installed here says nothing about this one
    assert [line for line in said.splitlines() if "referenced manual not found" not in line] == []


def test_every_verb_and_option_is_shown() -> None:
    shown = _shown(PAGES / "postroom.1")
    for spot in spots(root):
        words = " ".join(spot.words)
        section = re.search(rf"(?ms)^   {words}$(.*?)(?=^ {{0,3}}\S)", shown)
        assert section is not None or not words, words
        told = shown if section is None else section[1] + shown.partition("VERBS")[0]
        for flag in spot.flags:
            assert re.search(rf"(?m)^ +{flag.name}\b", told), f"{words} {flag.name}"


def test_every_setting_is_shown() -> None:
    _, sections = read_sections((ROOT / "config" / "postroom.toml").read_text("utf-8"))
    lines = [one for section in sections for _, settings in section.groups for one in settings]
    written = tomllib.loads(with_every_setting(ROOT / "config" / "postroom.toml"))
    tables = [*written["mailbox"], written["relay"]["main"]]
    tables += [table for name, table in written.items() if name not in {"mailbox", "relay"}]
    assert sorted(line.partition(" =")[0] for line in lines) == sorted(
        name for table in tables for name in table
    )
    shown = "".join(_shown(PAGES / "postroom.toml.5").split())
    assert all("".join(line.split()) in shown for line in lines)


def test_every_letter_of_sendmail_is_told() -> None:
    told = set(re.findall(r"(?m)(?:^\.It|,) Fl (\w)", _page("postroom-sendmail.1")))
    assert told == _ALONE | _WITH_VALUE | _VALUE_BEHIND


def test_every_setting_and_exit_code_of_sendmail_is_told() -> None:
    page = _page("postroom-sendmail.1")
    assert set(re.findall(r"(?m)^\.It Li (\w+)", page)) == {one.name for one in fields(Settings)}
    codes = {int(code) for code in re.findall(r"(?m)^\.It (\d+)", page)}
    assert codes == set(Exit) - {Exit.FOUND, Exit.NO_INPUT}


def test_every_page_is_installed_where_man_looks_for_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    shared = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    placed = {name: place for name, place in shared.items() if name.startswith("man/")}
    assert placed == {
        f"man/{page.name}": f"share/man/man{page.suffix[1:]}/{page.name}" for page in WRITTEN
    }


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (".hidden and 'quoted'", "\\&.hidden and 'quoted'"),
        ("One. Two, e.g. this.", "One.\nTwo, e.g. this."),
        ("`postroom run` --json", "\\(oqpostroom run\\(cq \\-\\-json"),
        ("a\\b ±", "a\\eb \\[u00B1]"),
    ],
    ids=["a dot", "sentences", "a command", "other characters"],
)
def test_text_stays_what_it_is(text: str, lines: str) -> None:
    assert prose(text) == lines
