"""The rules for Prometheus: promtool takes them, each fires on what its alert means, and none on a day without trouble."""

import json
import re
from pathlib import Path

import pytest

from postroom.core.alert import MEANINGS, AlertKind
from postroom.core.alertrules import RULES
from postroom.ops.metricnames import COUNTERS, GAUGES, HISTOGRAMS
from support.promtool import promtool


FILE = Path(__file__).parents[2] / "config" / "alerts" / "postroom.rules.yml"
K = AlertKind
Series = dict[str, str]
HERE = "postroom_build_info"

DEPTH = 'postroom_queue_depth{mailbox="support",priority="standard",state="pending"}'
DUE = 'postroom_oldest_due_age_seconds{mailbox="support",priority="standard"}'
OUTCOME = 'postroom_deliveries_total{{mailbox="support",outcome="{}",reason="r"}}'
SENT, RETRIED, FAILED = (OUTCOME.format(one) for one in ("sent", "retry_scheduled", "failed"))
MAILBOX = {"mailbox": "support"}


def spread(metric: str, label: str, slow_from: int) -> Series:
    """Two measures a minute, of a tenth of a second; from some minute on of five minutes."""
    quick = f"0+2x{slow_from} {2 * slow_from}+0x2000"
    every = "0+2x4000"
    name = f'postroom_{metric}{{0}}{{{{{label},le="{{1}}"}}}}'
    return {
        name.format("_bucket", "0.1"): quick,
        name.format("_bucket", "60"): quick,
        name.format("_bucket", "600"): every,
        name.format("_bucket", "+Inf"): every,
        f"postroom_{metric}_count{{{label}}}": every,
    }


# Each with the minutes after which it does not fire yet, and does.
FIRES: dict[AlertKind, tuple[Series, dict[str, str], int, int]] = {
    K.DEPTH_RISING: ({DEPTH: "0+10x200", DUE: "600x200"}, MAILBOX, 30, 50),
    K.RETRIES_GROWING: ({SENT: "0+1x200", RETRIED: "0+2x200"}, MAILBOX, 10, 40),
    K.FAILURES_CLUSTERING: ({SENT: "0+3x200", FAILED: "0+1x200"}, MAILBOX, 5, 30),
    K.STARTS_DRIFTING: (
        spread("start_wait_seconds", 'priority="high"', 300),
        {"priority": "high"},
        320,
        345,
    ),
    K.SETTLING_DRIFTING: (
        spread("settle_seconds", 'priority="bulk"', 300),
        {"priority": "bulk"},
        320,
        345,
    ),
    K.ATTEMPTS_DRIFTING: (
        spread("attempt_duration_seconds", 'mailbox="support"', 300),
        MAILBOX,
        310,
        330,
    ),
    K.EVENTS_WAITING: (
        {'postroom_events_oldest_unleased_age_seconds{consumer="agent"}': "0+60x200"},
        {"consumer": "agent"},
        59,
        60,
    ),
    K.DOUBT_WAITING: ({DEPTH.replace("pending", "uncertain"): "1x200"}, MAILBOX, 29, 31),
    K.CAP_NEAR: (
        {'postroom_alerts{kind="cap_near",scope="relay"}': "0x9 1x100"},
        {"scope": "relay"},
        9,
        11,
    ),
    K.DISK_LOW: (
        {"postroom_disk_free_bytes": "250 199x100", "postroom_disk_kept_bytes": "100x100"},
        {},
        2,
        4,
    ),
    K.RELAY_DOWN: (
        {'postroom_breaker_state{scope="relay",id="main"}': "0 2x100"},
        {"scope": "relay", "id": "main"},
        5,
        7,
    ),
    K.MAILBOX_BLOCKED: (
        {'postroom_breaker_state{scope="mailbox",id="support"}': "0 2x100"},
        {"scope": "mailbox", "id": "support"},
        5,
        7,
    ),
    K.CLOCK_JUMPED: (
        {'postroom_alerts{kind="clock_jumped",scope="daemon"}': "0x9 1x100"},
        {"scope": "daemon"},
        9,
        11,
    ),
}
SILENT: dict[str, tuple[AlertKind, Series]] = {
    "depth that is high and stays": (K.DEPTH_RISING, {DEPTH: "5000x200", DUE: "600x200"}),
    "depth that grows and is not due": (K.DEPTH_RISING, {DEPTH: "0+10x200", DUE: "200x200"}),
    "a batch that comes at once": (
        K.DEPTH_RISING,
        {DEPTH: "0x40 5000-20x150", DUE: "0x40 0+60x150"},
    ),
    "retries as many as sends": (K.RETRIES_GROWING, {SENT: "0+2x200", RETRIED: "0+2x200"}),
    "failures now and then": (K.FAILURES_CLUSTERING, {SENT: "0+9x200", FAILED: "0+1x200"}),
    "a few failures": (K.FAILURES_CLUSTERING, {FAILED: "0+1x5 5x200"}),
    "starts as ever": (K.STARTS_DRIFTING, spread("start_wait_seconds", 'priority="high"', 4000)),
    "bulk that waits": (K.STARTS_DRIFTING, spread("start_wait_seconds", 'priority="bulk"', 300)),
    "ends as ever": (K.SETTLING_DRIFTING, spread("settle_seconds", 'priority="high"', 4000)),
    "tries as ever": (
        K.ATTEMPTS_DRIFTING,
        spread("attempt_duration_seconds", 'mailbox="support"', 4000),
    ),
    "doubt that is settled in time": (
        K.DOUBT_WAITING,
        {DEPTH.replace("pending", "uncertain"): "1x20 0x200"},
    ),
}


def name_of(kind: AlertKind) -> str:
    return "Postroom" + "".join(part.capitalize() for part in kind.split("_"))


def said_of(folder: Path, series: Series, moments: list[tuple[int, str, list[object]]]) -> str:
    """What promtool says of these expectations: at a minute, of an alert, those that fire. Nothing = they are met."""
    text = {
        "rule_files": [str(FILE)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": one, "values": at} for one, at in series.items()],
                "alert_rule_test": [
                    {"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": fires}
                    for minute, alert, fires in moments
                ],
            }
        ],
    }
    path = folder / "rules.test.yml"
    path.write_text(json.dumps(text))  # which is YAML, too
    done = promtool("test", "rules", str(path))
    return "" if done.returncode == 0 else done.stdout + done.stderr


FILLED: dict[str, Series] = {
    "few bytes": {"disk_free_bytes": "250 199x100", "disk_kept_bytes": "100x100"},
    "few files": {"disk_free_files": "2500 1999x100", "disk_kept_files": "1000x100"},
}
ROOMY: dict[str, Series] = {
    "bytes": {"disk_free_bytes": "200x100", "disk_kept_bytes": "100x100"},
    "files": {"disk_free_files": "2000x100", "disk_kept_files": "1000x100"},
}


def test_promtool_finds_nothing_wrong_with_the_rules() -> None:
    done = promtool("check", "rules", str(FILE))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", AlertKind)
def test_a_rule_fires_when_its_alert_has_lasted_and_not_before(
    tmp_path: Path, kind: AlertKind
) -> None:
    series, labels, before, after = FIRES[kind]
    fires = {
        "exp_labels": {"kind": kind, **labels},
        "exp_annotations": {"summary": MEANINGS[kind].means, "to_do": MEANINGS[kind].to_do},
    }
    moments: list[tuple[int, str, list[object]]] = [
        (before, name_of(kind), []),
        (after, name_of(kind), [fires]),
    ]
    assert said_of(tmp_path, series, moments) == ""


@pytest.mark.parametrize(("kind", "series"), SILENT.values(), ids=SILENT)
def test_a_rule_is_silent_where_all_is_well(
    tmp_path: Path, kind: AlertKind, series: Series
) -> None:
    moments: list[tuple[int, str, list[object]]] = [
        (minute, name_of(kind), []) for minute in (*range(0, 200, 5), 330, 360, 400)
    ]
    assert said_of(tmp_path, series, moments) == ""


@pytest.mark.parametrize(
    ("what", "other"), [("few bytes", "files"), ("few files", "bytes")], ids=FILLED
)
def test_the_rule_about_the_disk_fires_by_bytes_and_by_files(
    tmp_path: Path, what: str, other: str
) -> None:
    series = {f"postroom_{name}": at for name, at in {**FILLED[what], **ROOMY[other]}.items()}
    meaning = MEANINGS[K.DISK_LOW]
    fires = {
        "exp_labels": {"kind": K.DISK_LOW},
        "exp_annotations": {"summary": meaning.means, "to_do": meaning.to_do},
    }
    name = name_of(K.DISK_LOW)
    assert said_of(tmp_path, series, [(2, name, []), (4, name, [fires])]) == ""
    series = {f"postroom_{name}": at for name, at in {**ROOMY["bytes"], **ROOMY["files"]}.items()}
    assert said_of(tmp_path, series, [(minute, name, []) for minute in (2, 4, 50)]) == ""


def test_a_daemon_that_is_gone_is_told_by_prometheus_alone(tmp_path: Path) -> None:
    gone = {
        "exp_annotations": {
            "summary": "Nobody answers for Postroom: it does not run, or its metrics can not be read.",
            "to_do": "`systemctl status postroom`, then `postroom status`.",
        }
    }
    moments: list[tuple[int, str, list[object]]] = [
        (10, "PostroomGone", []),
        (40, "PostroomGone", [gone]),
    ]
    assert said_of(tmp_path, {f'{HERE}{{version="1"}}': "1x20 stale"}, moments) == ""


def test_every_alert_has_a_rule_that_lasts_as_long_and_reads_metrics_that_there_are() -> None:
    text = FILE.read_text()
    found = re.findall(
        r"alert: (\w+)\n        expr: \|-\n(?:          .*\n)+        for: (\d+)m\n"
        r"        keep_firing_for: (\d+)m\n        labels:\n          kind: (\w+)\n",
        text,
    )
    minutes = {
        kind: tuple(int(one.total_seconds() // 60) for one in (rule.raise_after, rule.clear_after))
        for kind, rule in RULES.items()
    }
    assert {kind: (int(lasts), int(away)) for _, lasts, away, kind in found} == minutes
    assert [name for name, *_ in found] == [name_of(kind) for kind in AlertKind]
    named = {f"postroom_{one.name}" for one in GAUGES}
    named |= {f"postroom_{one.name}_total" for one in COUNTERS}
    named |= {f"postroom_{one.name}_{end}" for one in HISTOGRAMS for end in ("bucket", "count")}
    assert set(re.findall(r"\bpostroom_\w+", re.sub(r"#.*", "", text))) <= named
