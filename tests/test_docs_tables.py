"""The tables of the documentation hold what there is: settings, metrics, reasons, verbs, all in its words."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import timedelta

import click
import pytest

from postroom.api.requests import JobRequest
from postroom.cli.exits import MEANINGS, Exit
from postroom.cli.meanings import GATES as WAITS
from postroom.cli.meanings import HOLDS
from postroom.cli.tree import root
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
from support.config_files import ROOT, with_every_setting
from support.pages import ENTRY, read_page, read_table


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


def test_every_reason_of_a_bounce_is_in_the_manual_in_its_words() -> None:
    told = {str(reason): [one.means, one.to_do] for reason, one in BOUNCES.items()}
    assert read_table("trust.md", "reason") == told


def test_every_class_of_a_bounce_is_in_the_manual() -> None:
    (fields,) = [
        line for line in read_page("trust.md").splitlines() if line.startswith("| `class` |")
    ]
    assert {one.strip("`") for one in re.findall(r"`\w+`", fields)} == {"class", *BounceClass}


def test_every_setting_is_in_the_manual() -> None:
    assert set(read_table("operating.md", "setting")) == {name for name, _ in _settings()}


def test_a_default_in_the_manual_is_that_of_the_shipped_file() -> None:
    """Which holds the true ones: tests/config/test_shipped_files.py. Without back quotes it is prose."""
    shipped = dict(_settings())
    for name, (default, _) in read_table("operating.md", "setting").items():
        if default.startswith("`"):
            assert tomllib.loads(f"x = {default.strip('`')}")["x"] == shipped[name], name


def test_what_a_reload_may_change_is_in_the_manual() -> None:
    """And a new setting has its row in both: `listener` as a whole is no setting of its own."""
    told = {name: cells[1] for name, cells in read_table("operating.md", "setting").items()}
    assert told == {
        name: effect for name, effect in EFFECTS.items() if name not in {"listener", "metrics"}
    }


def test_every_log_event_is_in_the_manual_with_its_level_and_fields() -> None:
    rows = read_table("operating.md", "event")
    told = {name: (cells[0], cells[2]) for name, cells in rows.items()}
    assert told == {event: (level_of(event), " ".join(FIELDS[event])) for event in LogEvent}


@pytest.mark.parametrize(
    ("kind", "metrics", "ending"),
    [("gauge", GAUGES, ""), ("counter", COUNTERS, "_total"), ("histogram", HISTOGRAMS, "")],
    ids=["gauges", "counters", "histograms"],
)
def test_every_metric_is_in_the_manual(kind: str, metrics: tuple[Named, ...], ending: str) -> None:
    rows = read_table("operating.md", "metric")
    told = {name: cells[1:] for name, cells in rows.items() if cells[0] == kind}
    assert told == {
        f"postroom_{one.name}{ending}": [" ".join(one.labels) or "none", one.says]
        for one in metrics
    }


def test_every_reason_code_is_in_the_manual_with_what_to_do() -> None:
    assert read_table("operating.md", "reason_code") == {
        code: [EXPLANATIONS[code].means, EXPLANATIONS[code].to_do] for code in ReasonCode
    }


def test_every_reply_of_the_listener_is_told() -> None:
    assert list(read_table("receiving.md", "reply")) == list(Reply)


def test_every_limit_of_the_listener_is_told() -> None:
    told = {name: float(value) for name, (value, _) in read_table("receiving.md", "limit").items()}
    limits = asdict(Limits())
    others = limits.pop("calls")
    assert told == limits
    calls = ", ".join(f"{verb} {most}" for verb, most in others.items())
    assert calls in read_page("receiving.md")


def test_every_gate_is_in_the_manual_in_the_order_in_which_it_is_asked() -> None:
    told = read_table("operating.md", "gate")
    assert list(told) == [gate.name for gate in GATES]
    assert {name: (cells[0], cells[2]) for name, cells in told.items()} == {
        name: (one.because, one.to_do) for name, one in WAITS.items()
    }


def test_all_that_holds_mail_is_in_the_manual() -> None:
    assert {"mailbox paused", *HoldReason} == set(HOLDS)
    assert read_table("operating.md", "held by") == {
        str(by): [one.because, one.to_do] for by, one in HOLDS.items()
    }


def test_every_stop_is_in_the_manual_with_its_probes() -> None:
    assert read_table("operating.md", "stopped for") == {
        str(reason): [_span(each.first), _span(each.longest)] for reason, each in PROBING.items()
    }


def _span(wait: timedelta) -> str:
    seconds = round(wait.total_seconds())
    units = ((3600, "h"), (60, "min"), (1, "s"))
    return next(f"{seconds // unit} {name}" for unit, name in units if seconds % unit == 0)


def test_every_verb_is_in_the_manual_in_the_words_of_its_help() -> None:
    told = {verb: says for verb, (says,) in read_table("operating.md", "verb").items()}
    assert told == dict(_verbs(root))


def test_every_exit_code_is_in_the_manual() -> None:
    assert list(MEANINGS) == list(Exit)
    assert read_table("operating.md", "exit code") == {
        str(code.value): [says] for code, says in MEANINGS.items()
    }


def test_every_type_of_event_is_in_the_description_of_the_api() -> None:
    assert set(read_table("api.md", "event")) == set(EventType)
    types = {event_of(before, after) for before, ends in TRANSITIONS.items() for after in ends}
    assert types - {None} < set(EventType)


def test_every_sign_of_a_thread_and_every_fact_is_in_the_manual() -> None:
    page = read_page("threads.md")
    found = re.findall(r"\| `(\w+)` \| `(?:certain|strong|weak|none)` \|", page)
    assert set(found) == set(MatchedBy)
    order = ", ".join(f"`{one}`" for one in Feedback)
    assert order in page


def test_every_field_of_a_job_is_described_by_all_who_tell_of_it() -> None:
    table = read_page("api.md").partition("\n| field | what it is |\n")[2].partition("\n\n")[0]
    firsts = [row.split(" | ")[0] for row in table.splitlines()[1:]]
    told = {name for first in firsts for name in re.findall(r"`(\w+)`", first)}
    assert told == set(_FIELDS)
    assert set(JobRequest.__struct_encode_fields__) == set(_FIELDS)
    assert {"mailbox_id", "to", "subject", "text", *JobFields.__annotations__} == set(_FIELDS)


def test_every_state_is_explained() -> None:
    assert list(read_table("internals.md", "state")) == list(DeliveryState)
    entries = {
        name for entry in ENTRY.findall(read_page("glossary.md")) for name in entry.split(", ")
    }
    assert entries >= set(DeliveryState)


def test_every_row_of_the_selftest_is_said_to_show_something() -> None:
    told = list(read_table("guarantees.md", "row"))
    assert told[1:-1] == [trial.name for trial in TRIALS]
    assert (told[0], told[-1]) == ("kill before POINT", f"{DEATHS} random deaths")


def test_every_alert_is_in_the_manual_with_what_to_do() -> None:
    told = read_table("operating.md", "alert")
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
    assert read_table("operating.md", "cause") == {cause: [CAUSES[cause]] for cause in Cause}
