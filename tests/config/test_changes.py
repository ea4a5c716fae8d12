"""What a reload may change: every difference is found and told once, and what needs a restart stays."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.config.changes import Leaf, compare, in_force, leaves
from postroom.config.effects import RULES, Effect
from postroom.config.settings import (
    ApiSettings,
    DaemonSettings,
    DigestSettings,
    MetricsSettings,
    Settings,
)
from postroom.core.listening import ListenAt, Listening, TokenRules
from postroom.core.mailbox import (
    DomainPace,
    DoubtPolicy,
    Mailbox,
    OnUncertain,
    Pace,
    Relay,
    RetryPolicy,
    Tls,
)
from postroom.core.retention import Retention
from postroom.core.token import make_key
from postroom.ports.reloading import ChangeKind, SettingChange


SECRETS = ("hunter2", "correct horse")

# Each of them changes something; any of them together are settings.
SWITCHES: dict[str, Callable[[dict[str, Any]], object]] = {
    "state_dir": lambda said: said["daemon"].update(state_dir=Path("/b")),
    "slots": lambda said: said["daemon"].update(slots=1),
    "drain": lambda said: said["daemon"].update(drain=timedelta(seconds=1)),
    "mode": lambda said: said["api"].update(mode=0o600),
    "sent": lambda said: said["retention"].update(sent=timedelta(days=1)),
    "digest": lambda said: said["digest"].update(at=timedelta(hours=8, minutes=30)),
    "metrics": lambda said: said["metrics"].update(
        listen=ListenAt("127.0.0.1", 9100), token="hunter2"
    ),
    "listener": lambda said: said["listener"].update(hostname="mx.example.com"),
    "listen": lambda said: said["listener"].update(listen=(ListenAt("::1", 25),)),
    "domains": lambda said: said["listener"].update(domains=("example.com",)),
    "a key": lambda said: said["tokens"].update(keys=(make_key(b"hunter2" * 8),)),
    "another key": lambda said: said["tokens"].update(keys=(make_key(b"correct horse" * 8),)),
    "host": lambda said: said["main"].update(host="b.example.net"),
    "login": lambda said: said["main"].update(username="us", password="hunter2"),
    "password": lambda said: said["main"].update(password="correct horse"),
    "relay pace": lambda said: said["main"].update(pace=Pace(per_second=2)),
    "no second relay": lambda said: said["second"].clear(),
    "no box": lambda said: said["box"].clear(),
    "address": lambda said: said["box"].update(address="b@example.com"),
    "name": lambda said: said["box"].update(display_name="Us"),
    "own relay": lambda said: said["box"].update(relay_id="m:box"),
    "pace": lambda said: said["box"].update(pace=Pace(per_minute=5, per_day=6)),
    "a domain": lambda said: said["box"].update(domain_pace={"x.example": DomainPace()}),
    "domain pace": lambda said: said["box"].update(domain_pace={"x.example": DomainPace(2.0)}),
    "retry": lambda said: said["box"].update(retry=RetryPolicy(max_attempts=2)),
    "doubt": lambda said: said["box"].update(on_uncertain=DoubtPolicy(OnUncertain.RESEND)),
    "allow": lambda said: said["box"].update(recipients_allow=("example.com",)),
    "reply": lambda said: said["box"].update(reply_address="r-{token}@example.com"),
    "reports": lambda said: said["box"].update(wants_success=True),
}


def made(switches: frozenset[str]) -> Settings:
    said: dict[str, Any] = {
        name: {}
        for name in ("daemon", "api", "retention", "listener", "tokens", "digest", "metrics")
    }
    said["main"] = {"host": "a.example.net"}
    said["second"] = {"host": "c.example.net"}
    said["box"] = {"address": "a@example.com", "display_name": "", "relay_id": "main"}
    for name, switch in SWITCHES.items():
        if name in switches:
            switch(said)
    ways = {id_: said[id_] for id_ in ("main", "second") if said[id_]}
    boxes = {}
    if said["box"].get("address"):
        whole = {"display_name": "", "relay_id": "main"} | said["box"]
        boxes = {"box": Mailbox("box", **whole)}
        if boxes["box"].relay_id == "m:box":
            ways["m:box"] = {"host": "own.example.net"}
    return Settings(
        daemon=DaemonSettings(**said["daemon"]),
        api=ApiSettings(**said["api"]),
        retention=Retention(**said["retention"]),
        relays={id_: Relay(id_, port=25, tls=Tls.NONE, **one) for id_, one in ways.items()},
        mailboxes=boxes,
        listener=Listening(**{"hostname": "mx", **said["listener"]}) if said["listener"] else None,
        tokens=TokenRules(**said["tokens"]),
        digest=DigestSettings(**said["digest"]),
        metrics=MetricsSettings(**said["metrics"]) if said["metrics"] else None,
    )


def settings() -> st.SearchStrategy[Settings]:
    """Any settings that matter."""
    return st.frozensets(st.sampled_from(sorted(SWITCHES))).map(made)


def all_of(before: Settings, after: Settings) -> tuple[SettingChange, ...]:
    found = compare(before, after)
    return (*found.changed, *found.needs_restart)


@given(settings())
def test_the_same_settings_do_not_differ(said: Settings) -> None:
    assert all_of(said, replace(said, mailboxes=dict(reversed(said.mailboxes.items())))) == ()


@given(settings(), settings())
def test_the_way_back_is_the_way_there_turned_round(one: Settings, other: Settings) -> None:
    turned = {
        ChangeKind.ADDED: ChangeKind.REMOVED,
        ChangeKind.REMOVED: ChangeKind.ADDED,
        ChangeKind.CHANGED: ChangeKind.CHANGED,
    }
    there = {(a.path, a.kind, a.before, a.after) for a in all_of(one, other)}
    back = {(a.path, turned[a.kind], a.after, a.before) for a in all_of(other, one)}
    assert there == back


@given(settings(), settings())
def test_each_setting_is_told_once_in_order_and_no_secret(one: Settings, other: Settings) -> None:
    found = compare(one, other)
    for told in (found.changed, found.needs_restart):
        assert [change.path for change in told] == sorted({change.path for change in told})
    assert not any(secret in repr(found) for secret in SECRETS)


@given(settings(), settings())
def test_what_is_in_force_then_differs_in_nothing_but_what_needs_a_restart(
    one: Settings, other: Settings
) -> None:
    found, force = compare(one, other), in_force(one, other)
    assert compare(one, force) == replace(found, needs_restart=())
    assert compare(force, other) == replace(found, changed=())
    assert in_force(force, other) == force


@given(st.frozensets(st.sampled_from(sorted(SWITCHES))), st.sampled_from(sorted(SWITCHES)))
def test_no_switch_is_passed_over(switches: frozenset[str], one: str) -> None:
    """What only counts with something else is no difference without it, and the others are."""
    before, after = made(switches - {one}), made(switches | {one})
    if before != after and not ("key" in one and before.listener is None):
        assert all_of(before, after)


def test_every_setting_that_is_kept_has_a_row() -> None:
    assert {leaf.name for leaf in _every_leaf()} <= set(RULES)


def test_every_row_is_a_setting_or_what_is_made_of_one() -> None:
    kept = {leaf.name for leaf in _every_leaf()}
    assert set(RULES) - kept == {"listener", "metrics", "relay.NAME.auth", "mailbox.id"}


def test_every_field_is_a_leaf() -> None:
    """Nothing that a dataclass of the settings keeps is passed over; ids and warnings are no settings."""
    kept = (
        DaemonSettings(), ApiSettings(), Retention(), Listening("h"), TokenRules(),
        DigestSettings(), MetricsSettings(ListenAt("h", 1), "t"),
        Relay("", "", 0, Tls.NONE), _box(),
    )  # fmt: skip
    assert len(_every_leaf()) == sum(_count(one) for one in kept)


def _count(value: Any) -> int:
    found = 0
    for field in fields(value):
        inner = getattr(value, field.name)
        if field.name in {"id", "answers"}:
            continue
        if field.name == "domain_pace":
            found += sum(_count(one) for one in inner.values())
        elif is_dataclass(inner) and not isinstance(inner, DoubtPolicy | ListenAt):
            found += _count(inner)
        else:
            found += 1
    return found


def _box() -> Mailbox:
    return Mailbox("box", "a@example.com", "", "main", domain_pace={"x.example": DomainPace()})


def _every_leaf() -> tuple[Leaf, ...]:
    return leaves(
        Settings(
            DaemonSettings(),
            ApiSettings(),
            Retention(),
            {"main": Relay("main", "", 0, Tls.NONE)},
            {"box": _box()},
            Listening("h"),
            metrics=MetricsSettings(ListenAt("h", 1), "t"),
        )
    )


def said(**changes: Any) -> Settings:
    relay = Relay("main", "a.example.net", 587, Tls.STARTTLS)
    box = Mailbox("box", "a@example.com", "Us", "main")
    base = Settings(DaemonSettings(), ApiSettings(), Retention(), {"main": relay}, {"box": box})
    return replace(base, **changes)


def box(**changes: Any) -> Settings:
    return said(mailboxes={"box": replace(said().mailboxes["box"], **changes)})


TOLD = {
    "a name": (box(display_name="We"), "mailbox.box.address", "a@example.com, Us", "a@example.com, We"),
    "a pace": (box(pace=Pace(per_second=0.5)), "mailbox.box.pace.per_second", None, "0.5"),
    "a duration": (box(retry=RetryPolicy(cap=timedelta(hours=2))), "mailbox.box.retry.cap_s", "3600", "7200"),
    "a list": (box(recipients_deny=("b.example", "c.example")), "mailbox.box.recipients_deny", "none", "b.example, c.example"),
    "a policy": (box(on_uncertain=DoubtPolicy(OnUncertain.RESEND)), "mailbox.box.on_uncertain", "hold", "resend after 900 s"),
    "a switch": (box(wants_success=True), "mailbox.box.success_reports", "false", "true"),
    "a relay": (box(relay_id="m:box"), "mailbox.box.relay", "main", "its own"),
    "a mode": (said(api=ApiSettings(mode=0o600)), "api.mode", "0660", "0600"),
    "a path": (said(daemon=DaemonSettings(state_dir=Path("/x"))), "daemon.state_dir", "/var/lib/postroom", "/x"),
}  # fmt: skip


@pytest.mark.parametrize("case", TOLD)
def test_a_change_is_told_in_the_words_of_the_file(case: str) -> None:
    after, path, was, is_ = TOLD[case]
    (change,) = all_of(said(), after)
    assert (change.path, change.before, change.after) == (path, was, is_)
    assert change.kind is (ChangeKind.ADDED if was is None else ChangeKind.CHANGED)


def test_a_mailbox_that_comes_is_told_once_with_its_address() -> None:
    new = Mailbox("new", "new@example.com", "", "m:new")
    relay = Relay("m:new", "h", 25, Tls.NONE)
    after = said(mailboxes=said().mailboxes | {"new": new}, relays=said().relays | {"m:new": relay})
    assert all_of(said(), after) == (
        SettingChange("mailbox.new", ChangeKind.ADDED, None, "new@example.com"),
    )
    assert all_of(after, said()) == (
        SettingChange("mailbox.new", ChangeKind.REMOVED, "new@example.com", None),
    )


def test_what_a_private_relay_says_is_told_with_its_mailbox() -> None:
    def private(port: int) -> Settings:
        return said(
            mailboxes={"box": replace(said().mailboxes["box"], relay_id="m:box")},
            relays={"m:box": Relay("m:box", "h", port, Tls.NONE)},
        )

    (change,) = all_of(private(25), private(26))
    assert change.path == "mailbox.box.relay.port"


def test_a_long_value_is_cut() -> None:
    (change,) = all_of(said(), box(recipients_deny=tuple(f"{n}.example" for n in range(500))))
    assert len(change.after or "") < 210


def test_only_few_settings_need_a_restart() -> None:
    assert {name for name, effect in RULES.items() if effect is Effect.RESTART} == {
        "daemon.state_dir", "api.socket", "api.mode", "api.group", "listener", "listener.listen",
        "metrics", "metrics.listen", "metrics.token",
    }  # fmt: skip
