"""The documentation can not drift: what it names is there, and what it says can be typed and loaded."""

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from postroom.cli.tree import root
from postroom.core.delivery import TRANSITIONS
from support.config_files import MAILBOX, ROOT, load_text
from support.drawing import draw
from support.pages import DOCS, ENTRY, PAGES, read_page


DECISIONS = sorted((DOCS / "decisions").iterdir())
LINK = re.compile(r"\]\(([^)\s]+)\)")
TYPED = re.compile(r"(?:`|^|/bin/|&& )postroom +([a-z][^`\n;|)]*)", re.MULTILINE)
NAMED = re.compile(
    r"(?<![\w./-])((?:api|benchmarks|cli|config|core|docs|inbound|ops|outbound|ports|service|store|systemd|tests)/"
    r"[\w/-]*\w(?:\.[a-z]\w*)*)"
)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
# Paths of one machine, and hosts of package registries; in pieces, so that this file has none of them.
ONE_MACHINE = re.compile(
    "|".join(
        (r"(?<![\w.])/" + "(work|root)/", "py" + r"pi\.", "python" + "hosted", "index" + "-url")
    )
)


def _anchors(page: Path) -> set[str]:
    """The names under which the headings of a page can be reached."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _kept_files() -> list[Path]:
    """Every file that belongs to the repository."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("this is no git checkout")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


@pytest.mark.parametrize("recipe", ["A", "B", "C"])
def test_a_recipe_for_replies_can_be_loaded(recipe: str, tmp_path: Path) -> None:
    section = read_page("receiving.md").partition(f"### {recipe}: ")[2].partition("##")[0]
    listener, *others = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    listener = re.sub(r"tls_\w+ = .*\n", "", listener)
    assert load_text(tmp_path, f"{listener}\n{MAILBOX}\n{''.join(others)}").warnings == ()


def test_the_listener_of_the_readme_can_be_loaded(tmp_path: Path) -> None:
    section = (ROOT / "README.md").read_text("utf-8").partition("## Getting replies here")[2]
    listener, mailbox = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    text = f"{listener}\n{MAILBOX.replace('support', 'reports')}\n{mailbox}"
    assert load_text(tmp_path, text).mailboxes["reports"].reply_address is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_says_to_type_can_be_typed(page: Path) -> None:
    for typed in TYPED.findall(page.read_text("utf-8")):
        words = shlex.split(typed, comments=True)
        command: click.Command = root
        while isinstance(command, click.Group) and words and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        assert command is not root, typed
        known = {name for option in command.params for name in option.opts} | {"--help"}
        assert {word for word in words if word.startswith("-") and word != "-"} <= known, typed


def test_the_picture_of_the_states_is_drawn_from_the_table() -> None:
    picture = re.search(
        r"<!-- transitions:begin -->\n(.*)\n<!-- transitions:end -->",
        read_page("internals.md"),
        re.DOTALL,
    )
    assert picture is not None
    assert picture[1] == draw(TRANSITIONS)


def test_the_glossary_is_in_order() -> None:
    words = [entry.lower().replace("_", " ") for entry in ENTRY.findall(read_page("glossary.md"))]
    assert words == sorted(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text("utf-8")):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in _anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_is_named_is_there(page: Path) -> None:
    for name in NAMED.findall(page.read_text("utf-8")):
        places = (ROOT / name, ROOT / "daemon/postroom" / name, ROOT / f"daemon/postroom/{name}.py")
        assert any(place.exists() for place in places), name


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda path: path.stem[:4])
def test_a_decision_has_its_four_parts(decision: Path) -> None:
    text = decision.read_text("utf-8")
    assert text.startswith(f"# {decision.name[:4]}: ")
    parts = ("**Context.**", "**Choice.**", "**Price.**", "**We would notice being wrong**")
    places = [text.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


def test_decisions_are_numbered_without_a_gap() -> None:
    assert [path.name[:4] for path in DECISIONS] == [f"{n + 1:04}" for n in range(len(DECISIONS))]


def test_every_test_that_shows_a_guarantee_is_there() -> None:
    named = TEST.findall(read_page("guarantees.md"))
    assert len(named) > 30
    for path, name in named:
        assert f"def {name}(" in (ROOT / path).read_text("utf-8"), name


def test_every_test_of_the_table_of_faults_is_there() -> None:
    text = (DOCS / "decisions" / "0024-faults-and-what-follows.md").read_text("utf-8")
    shown = re.findall(r"`(tests/[^`:]+\.py)(?:::(\w+))?`", text)
    assert len(shown) > 30
    for path, name in shown:
        assert not name or f"def {name}(" in (ROOT / path).read_text("utf-8"), name
        assert (ROOT / path).is_file(), path


@pytest.mark.parametrize("page", ["README.md", "docs/operating.md"])
def test_a_mailbox_in_the_documentation_can_be_loaded(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reports").write_text("secret")
    (tmp_path / "reports").chmod(0o400)
    (tmp_path / "metrics").write_text("0" * 64)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    text = (ROOT / page).read_text("utf-8").partition("## Getting replies here")[0]
    blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        settings = load_text(
            tmp_path,
            block.replace("/srv/reports", str(tmp_path)),
            {"CREDENTIALS_DIRECTORY": str(tmp_path)},
        )
        assert "reports" in settings.mailboxes or settings.metrics


def test_nothing_tells_on_which_machine_it_was_made() -> None:
    for path in filter(Path.is_file, _kept_files()):
        found = ONE_MACHINE.search(path.read_text("utf-8", "replace"))
        assert found is None, f"{path.relative_to(ROOT)}: {found and found[0]}"


@pytest.mark.parametrize("page", ["flow.md", "internals.md", "decisions"])
def test_the_rooms_that_a_page_names_are_there(page: str) -> None:
    """`package/module`, as a stranger would look for it: in the package, or at the top of the repository."""
    pages = sorted((ROOT / "docs" / page).glob("*.md")) or [ROOT / "docs" / page]
    packages = "|".join(
        one.name for one in (ROOT / "daemon" / "postroom").iterdir() if one.is_dir()
    )
    named = {
        name
        for one in pages
        for name in re.findall(rf"`((?:{packages})/[a-z0-9_/]+)`", one.read_text("utf-8"))
    }
    assert named
    places = [ROOT / "daemon" / "postroom", ROOT]
    gone = [
        name
        for name in sorted(named)
        if not any((place / f"{name}.py").is_file() or (place / name).is_dir() for place in places)
    ]
    assert gone == []
