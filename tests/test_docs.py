"""The documentation can not drift: what its tables hold is what there is, and what it names is there."""

import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

import click
import pytest

from postroom.api.requests import JobRequest
from postroom.cli.__main__ import root
from postroom.cli.exits import MEANINGS, Exit
from postroom.cli.meanings import GATES as WAITS
from postroom.cli.meanings import HOLDS
from postroom.client.fields import JobFields
from postroom.config.effects import RULES as EFFECTS
from postroom.core.alert import CAUSES, AlertKind, Cause
from postroom.core.alert import MEANINGS as ALERTS
from postroom.core.alertrules import RULES
from postroom.core.bouncereason import MEANINGS as BOUNCES
from postroom.core.bouncereason import BounceClass
from postroom.core.breaker import PROBING
from postroom.core.delivery import TRANSITIONS, DeliveryState, Feedback, HoldReason
from postroom.core.eventtypes import EventType
from postroom.core.gates import GATES
from postroom.core.jobfields import _FIELDS
from postroom.core.matching import MatchedBy
from postroom.core.reason import EXPLANATIONS, ReasonCode
from postroom.inbound.limits import Limits
from postroom.inbound.words import Reply
from postroom.ops.logfields import FIELDS
from postroom.ops.logwords import LogEvent, level_of
from postroom.ops.metricnames import COUNTERS, GAUGES, HISTOGRAMS, Named
from postroom.selftest.chaos import DEATHS
from postroom.selftest.ugly import TRIALS
from postroom.store.sqlite.transition import event_of
from support.config_files import MAILBOX, ROOT, load_text, with_every_setting
from support.drawing import draw


DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md")))
DECISIONS = sorted((DOCS / "decisions").iterdir())

ROW = re.compile(r"\| `([^`]+)` \| (.*) \|")
LINK = re.compile(r"\]\(([^)\s]+)\)")
TYPED = re.compile(r"(?:`|^|/bin/|&& )postroom +([a-z][^`\n;|)]*)", re.MULTILINE)
NAMED = re.compile(
    r"(?<![\w./-])((?:api|benchmarks|cli|config|core|docs|inbound|ops|outbound|ports|service|store|systemd|tests)/"
    r"[\w/-]*\w(?:\.[a-z]\w*)*)"
)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
ENTRY = re.compile(r"^\*\*(.+?)\*\*", re.MULTILINE)
# Paths of one machine, and hosts of package registries; in pieces, so that this file has none of them.
ONE_MACHINE = re.compile(
    "|".join(
        (r"(?<![\w.])/" + "(work|root)/", "py" + r"pi\.", "python" + "hosted", "index" + "-url")
    )
)


def _read(page: str) -> str:
    return (DOCS / page).read_text("utf-8")


def _table(page: str, first_column: str) -> dict[str, list[str]]:
    """The table of a page whose first column is called so: its other cells by the first."""
    _, found, after = _read(page).partition(f"\n| {first_column} |")
    assert found
    rows = (ROW.fullmatch(line) for line in after.partition("\n\n")[0].splitlines()[2:])
    return {row[1]: row[2].split(" | ") for row in rows if row}


def _settings() -> Iterator[tuple[str, object]]:
    """Every setting in the shipped file, dotted; a name that is free to choose is NAME or DOMAIN."""
    written = tomllib.loads(with_every_setting(ROOT / "config" / "postroom.toml"))
    written["relay"] = {"NAME": written["relay"]["main"]}
    (written["mailbox"],) = written["mailbox"]
    written["mailbox"]["domain_pace"] = {"DOMAIN": written["mailbox"]["domain_pace"]["gmail.com"]}
    yield from _flat("", written)


def _flat(prefix: str, table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", value


def _verbs(group: click.Group, prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _verbs(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command.get_short_help_str(200)


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


def test_every_reason_of_a_bounce_is_in_the_manual_in_its_words() -> None:
    told = {str(reason): [one.means, one.to_do] for reason, one in BOUNCES.items()}
    assert _table("trust.md", "reason") == told


def test_every_class_of_a_bounce_is_in_the_manual() -> None:
    (fields,) = [line for line in _read("trust.md").splitlines() if line.startswith("| `class` |")]
    assert {one.strip("`") for one in re.findall(r"`\w+`", fields)} == {"class", *BounceClass}


def test_every_setting_is_in_the_manual() -> None:
    assert set(_table("operating.md", "setting")) == {name for name, _ in _settings()}


def test_a_default_in_the_manual_is_that_of_the_shipped_file() -> None:
    """Which holds the true ones: tests/config/test_shipped_files.py. Without back quotes it is prose."""
    shipped = dict(_settings())
    for name, (default, _) in _table("operating.md", "setting").items():
        if default.startswith("`"):
            assert tomllib.loads(f"x = {default.strip('`')}")["x"] == shipped[name], name


def test_what_a_reload_may_change_is_in_the_manual() -> None:
    """And a new setting has its row in both: `listener` as a whole is no setting of its own."""
    told = {name: cells[1] for name, cells in _table("operating.md", "setting").items()}
    assert told == {
        name: effect for name, effect in EFFECTS.items() if name not in {"listener", "metrics"}
    }


def test_every_log_event_is_in_the_manual_with_its_level_and_fields() -> None:
    rows = _table("operating.md", "event")
    told = {name: (cells[0], cells[2]) for name, cells in rows.items()}
    assert told == {event: (level_of(event), " ".join(FIELDS[event])) for event in LogEvent}


@pytest.mark.parametrize(
    ("kind", "metrics", "ending"),
    [("gauge", GAUGES, ""), ("counter", COUNTERS, "_total"), ("histogram", HISTOGRAMS, "")],
    ids=["gauges", "counters", "histograms"],
)
def test_every_metric_is_in_the_manual(kind: str, metrics: tuple[Named, ...], ending: str) -> None:
    rows = _table("operating.md", "metric")
    told = {name: cells[1:] for name, cells in rows.items() if cells[0] == kind}
    assert told == {
        f"postroom_{one.name}{ending}": [" ".join(one.labels) or "none", one.says]
        for one in metrics
    }


def test_every_reason_code_is_in_the_manual_with_what_to_do() -> None:
    assert _table("operating.md", "reason_code") == {
        code: [EXPLANATIONS[code].means, EXPLANATIONS[code].to_do] for code in ReasonCode
    }


def test_every_reply_of_the_listener_is_told() -> None:
    assert list(_table("receiving.md", "reply")) == list(Reply)


def test_every_limit_of_the_listener_is_told() -> None:
    told = {name: float(value) for name, (value, _) in _table("receiving.md", "limit").items()}
    limits = asdict(Limits())
    others = limits.pop("calls")
    assert told == limits
    calls = ", ".join(f"{verb} {most}" for verb, most in others.items())
    assert calls in _read("receiving.md")


@pytest.mark.parametrize("recipe", ["A", "B", "C"])
def test_a_recipe_for_replies_can_be_loaded(recipe: str, tmp_path: Path) -> None:
    section = _read("receiving.md").partition(f"### {recipe}: ")[2].partition("##")[0]
    listener, *others = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    listener = re.sub(r"tls_\w+ = .*\n", "", listener)
    assert load_text(tmp_path, f"{listener}\n{MAILBOX}\n{''.join(others)}").warnings == ()


def test_the_listener_of_the_readme_can_be_loaded(tmp_path: Path) -> None:
    section = (ROOT / "README.md").read_text("utf-8").partition("## Getting replies here")[2]
    listener, mailbox = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    text = f"{listener}\n{MAILBOX.replace('support', 'reports')}\n{mailbox}"
    assert load_text(tmp_path, text).mailboxes["reports"].reply_address is not None


def test_every_gate_is_in_the_manual_in_the_order_in_which_it_is_asked() -> None:
    told = _table("operating.md", "gate")
    assert list(told) == [gate.name for gate in GATES]
    assert {name: (cells[0], cells[2]) for name, cells in told.items()} == {
        name: (one.because, one.to_do) for name, one in WAITS.items()
    }


def test_all_that_holds_mail_is_in_the_manual() -> None:
    assert {"mailbox paused", *HoldReason} == set(HOLDS)
    assert _table("operating.md", "held by") == {
        str(by): [one.because, one.to_do] for by, one in HOLDS.items()
    }


def test_every_stop_is_in_the_manual_with_its_probes() -> None:
    assert _table("operating.md", "stopped for") == {
        str(reason): [_span(each.first), _span(each.longest)] for reason, each in PROBING.items()
    }


def _span(wait: timedelta) -> str:
    seconds = round(wait.total_seconds())
    units = ((3600, "h"), (60, "min"), (1, "s"))
    return next(f"{seconds // unit} {name}" for unit, name in units if seconds % unit == 0)


def test_every_verb_is_in_the_manual_in_the_words_of_its_help() -> None:
    told = {verb: says for verb, (says,) in _table("operating.md", "verb").items()}
    assert told == dict(_verbs(root))


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


def test_every_exit_code_is_in_the_manual() -> None:
    assert list(MEANINGS) == list(Exit)
    assert _table("operating.md", "exit code") == {
        str(code.value): [says] for code, says in MEANINGS.items()
    }


def test_every_type_of_event_is_in_the_description_of_the_api() -> None:
    assert set(_table("api.md", "event")) == set(EventType)
    types = {event_of(before, after) for before, ends in TRANSITIONS.items() for after in ends}
    assert types - {None} < set(EventType)


def test_every_sign_of_a_thread_and_every_fact_is_in_the_manual() -> None:
    page = _read("threads.md")
    found = re.findall(r"\| `(\w+)` \| `(?:certain|strong|weak|none)` \|", page)
    assert set(found) == set(MatchedBy)
    order = ", ".join(f"`{one}`" for one in Feedback)
    assert order in page


def test_every_field_of_a_job_is_described_by_all_who_tell_of_it() -> None:
    table = _read("api.md").partition("\n| field | what it is |\n")[2].partition("\n\n")[0]
    firsts = [row.split(" | ")[0] for row in table.splitlines()[1:]]
    told = {name for first in firsts for name in re.findall(r"`(\w+)`", first)}
    assert told == set(_FIELDS)
    assert set(JobRequest.__struct_encode_fields__) == set(_FIELDS)
    assert {"mailbox_id", "to", "subject", "text", *JobFields.__annotations__} == set(_FIELDS)


def test_every_state_is_explained() -> None:
    assert list(_table("internals.md", "state")) == list(DeliveryState)
    entries = {name for entry in ENTRY.findall(_read("glossary.md")) for name in entry.split(", ")}
    assert entries >= set(DeliveryState)


def test_the_picture_of_the_states_is_drawn_from_the_table() -> None:
    picture = re.search(
        r"<!-- transitions:begin -->\n(.*)\n<!-- transitions:end -->",
        _read("internals.md"),
        re.DOTALL,
    )
    assert picture is not None
    assert picture[1] == draw(TRANSITIONS)


def test_the_glossary_is_in_order() -> None:
    words = [entry.lower().replace("_", " ") for entry in ENTRY.findall(_read("glossary.md"))]
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
    named = TEST.findall(_read("guarantees.md"))
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


def test_every_row_of_the_selftest_is_said_to_show_something() -> None:
    told = list(_table("guarantees.md", "row"))
    assert told[1:-1] == [trial.name for trial in TRIALS]
    assert (told[0], told[-1]) == ("kill before POINT", f"{DEATHS} random deaths")


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


def test_every_alert_is_in_the_manual_with_what_to_do() -> None:
    told = _table("operating.md", "alert")
    assert told == {
        kind: [
            ", ".join(ALERTS[kind].scopes),
            ALERTS[kind].means,
            ALERTS[kind].figure,
            *(f"{one.total_seconds() / 60:g} min" for one in (rule.raise_after, rule.clear_after)),
            ALERTS[kind].to_do,
        ]
        for kind, rule in RULES.items()
    }
    assert list(told) == list(AlertKind)
    assert _table("operating.md", "cause") == {cause: [CAUSES[cause]] for cause in Cause}


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
