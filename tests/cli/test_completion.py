"""Completion in real shells: every verb and option is offered, and values where something is known of them."""

import subprocess
from pathlib import Path

import pytest

from postroom.cli.shells import SHELLS
from postroom.cli.tree import main, root
from postroom.cli.wordtree import Kind, Spot, spots
from support.fake_daemon import fake_daemon
from support.peers import needs_peer
from support.shells import type_in


TREE = tuple(spots(root))
TYPED = [
    ("a verb", "postroom sel\t", "<selftest>"),
    ("a verb of a group", "postroom events le\t", "<events><lease>"),
    ("an option", "postroom send --prio\t", "<send><--priority>"),
    (
        "an option of a group's verb",
        "postroom events lease --consu\tx",
        "<events><lease><--consumer><x>",
    ),
    ("a choice", "postroom send --priority hi\t", "<send><--priority><high>"),
    ("a choice behind =", "postroom send --priority=hi\t", "<send><--priority=high>"),
    ("a choice as an argument", "postroom completion fi\t", "<completion><fish>"),
    ("a mailbox", "postroom send --mailbox sup\t", "<send><--mailbox><support>"),
    ("a mailbox as an argument", "postroom mailboxes pause sa\t", "<mailboxes><pause><sales>"),
    ("a status", "postroom jobs --status comp\t", "<jobs><--status><completed>"),
    ("a state", "postroom release --state he\t", "<release><--state><held>"),
    ("a reason", "postroom retry --reason greyl\t", "<retry><--reason><greylisted>"),
    (
        "a mailbox of the daemon that is named",
        "postroom --socket /run/b.sock jobs --mailbox e\t",
        "<--socket></run/b.sock><jobs><--mailbox><elsewhere>",
    ),
    (
        "a mailbox of the daemon behind =",
        "postroom jobs --socket=/run/b.sock --mailbox e\t",
        "<jobs><--socket=/run/b.sock><--mailbox><elsewhere>",
    ),
    (
        "a mailbox of the settings that are named",
        "postroom jobs --config a\\ b.toml --mailbox by\t",
        "<jobs><--config><a b.toml><--mailbox><by_settings>",
    ),
    ("a file", "postroom send --attach a\\ b\t", "<send><--attach><a book.csv>"),
    ("a file as an argument", "postroom restore a\\ b\t", "<restore><a book.csv>"),
    (
        "the same verb in two places",
        "postroom events retry --consu\tx",
        "<events><retry><--consumer><x>",
    ),
    ("nothing for what nobody knows", "postroom send --to a\t", "<send><--to><a>"),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    for shell, render in SHELLS.items():
        (folder / f"postroom.{shell}").write_text(render(TREE))
    (folder / "a book.csv").write_text("")
    return folder


@pytest.mark.parametrize(
    ("keys", "words"), [row[1:] for row in TYPED], ids=[row[0] for row in TYPED]
)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_tab_completes(shell: str, keys: str, words: str, scripts: Path) -> None:
    assert words in type_in(shell, scripts / f"postroom.{shell}", keys, scripts)


@pytest.mark.parametrize("spot", TREE, ids=lambda spot: " ".join(spot.words) or "postroom")
def test_bash_offers_every_verb_and_option(spot: Spot, scripts: Path) -> None:
    needs_peer("bash")
    typed = ["postroom", *spot.words, ""]
    code = (
        f". {scripts}/postroom.bash; COMP_WORDS=({' '.join(typed[:-1])} --); "
        f"COMP_CWORD={len(typed) - 1}; _postroom; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [flag.name for flag in spot.flags]


@pytest.mark.parametrize("spot", TREE, ids=lambda spot: " ".join(spot.words) or "postroom")
def test_fish_offers_every_verb_and_option(spot: Spot, scripts: Path) -> None:
    fish = needs_peer("fish")
    typed = " ".join(["postroom", *spot.words])
    code = f"source {scripts}/postroom.fish; complete -C '{typed} '; complete -C '{typed} --'"
    done = subprocess.run(
        [fish, "--no-config", "-c", code], capture_output=True, text=True, check=True
    )
    told = dict(line.split("\t") for line in done.stdout.splitlines() if "\t" in line)
    expected = {**dict(spot.verbs), **{flag.name: flag.says for flag in spot.flags}}
    assert {name: told.get(name) for name in expected} == expected


def test_fish_asks_the_daemon_that_is_named(scripts: Path) -> None:
    fish = needs_peer("fish")
    program = "function postroom; echo (string join , -- $argv); end"
    for typed, asked in (
        ("jobs --mailbox ", "completion,mailboxes"),
        ("jobs --socket /b.sock --mailbox ", "--socket,/b.sock,completion,mailboxes"),
        ("--config=/b.toml jobs --mailbox ", "--config,/b.toml,completion,mailboxes"),
    ):
        code = f"{program}; source {scripts}/postroom.fish; complete -C 'postroom {typed}'"
        done = subprocess.run(
            [fish, "--no-config", "-c", code], capture_output=True, text=True, check=True
        )
        assert [line.partition("\t")[0] for line in done.stdout.splitlines()] == [asked]


def test_every_choice_is_in_the_scripts() -> None:
    values = [flag.value for spot in TREE for flag in spot.flags if flag.value is not None]
    words = [" ".join(one.words) for one in values if one.kind is Kind.WORDS]
    assert len(words) > 5
    for render in SHELLS.values():
        script = render(TREE)
        assert all(one in script for one in words)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_verb_prints_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == SHELLS[shell](TREE) + "\n"


def test_ids_of_mailboxes_are_those_of_the_daemon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_daemon(tmp_path) as daemon:
        items = [{"id": "support"}, {"id": "$(reboot)"}, {"id": "sales"}]
        daemon.on("GET /v1/mailboxes", {"items": items})
        monkeypatch.setenv("POSTROOM_SOCKET", str(daemon.socket))
        assert main(["completion", "mailboxes"]) == 0
    assert capsys.readouterr() == ("support\nsales\n", "")
    assert main(["completion", "mailboxes"]) == 0
    assert capsys.readouterr() == ("", "")
    (tmp_path / "b").mkdir()
    with fake_daemon(tmp_path / "b") as daemon:
        daemon.on("GET /v1/mailboxes", {"items": [{"id": "elsewhere"}]})
        assert main(["--socket", str(daemon.socket), "completion", "mailboxes"]) == 0
    assert capsys.readouterr() == ("elsewhere\n", "")
