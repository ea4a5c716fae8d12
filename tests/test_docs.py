"""docs/operating.md can not drift: its tables hold the settings, log events, metrics and reason codes that there are."""

import re
import tomllib
from collections.abc import Iterator, Mapping

import pytest

from postroom.core.reason import EXPLANATIONS, ReasonCode
from postroom.ops.logwords import FIELDS, LogEvent, level_of
from postroom.ops.metrics import COUNTERS, GAUGES, HISTOGRAMS, Named
from support.config_files import ROOT, with_every_setting


OPERATING = (ROOT / "docs" / "operating.md").read_text("utf-8")
ROW = re.compile(r"\| `([^`]+)` \| (.*) \|")


def _table(first_column: str) -> dict[str, list[str]]:
    """The table whose first column is called so: its other cells by the first."""
    _, found, after = OPERATING.partition(f"\n| {first_column} |")
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


def test_every_setting_is_in_the_manual() -> None:
    assert set(_table("setting")) == {name for name, _ in _settings()}


def test_a_default_in_the_manual_is_that_of_the_shipped_file() -> None:
    """Which holds the true ones: tests/config/test_shipped_files.py. Without back quotes it is prose."""
    shipped = dict(_settings())
    for name, (default,) in _table("setting").items():
        if default.startswith("`"):
            assert tomllib.loads(f"x = {default.strip('`')}")["x"] == shipped[name], name


def test_every_log_event_is_in_the_manual_with_its_level_and_fields() -> None:
    told = {name: (cells[0], cells[2]) for name, cells in _table("event").items()}
    assert told == {event: (level_of(event), " ".join(FIELDS[event])) for event in LogEvent}


@pytest.mark.parametrize(
    ("kind", "metrics", "ending"),
    [("gauge", GAUGES, ""), ("counter", COUNTERS, "_total"), ("histogram", HISTOGRAMS, "")],
    ids=["gauges", "counters", "histograms"],
)
def test_every_metric_is_in_the_manual(kind: str, metrics: tuple[Named, ...], ending: str) -> None:
    told = {name: cells[1:] for name, cells in _table("metric").items() if cells[0] == kind}
    assert told == {
        f"postroom_{one.name}{ending}": [" ".join(one.labels) or "none", one.says]
        for one in metrics
    }


def test_every_reason_code_is_in_the_manual_with_what_to_do() -> None:
    assert _table("reason_code") == {
        code: [EXPLANATIONS[code].means, EXPLANATIONS[code].to_do] for code in ReasonCode
    }
