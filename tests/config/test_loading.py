"""Settings: what loads, what does not, and that all of it is said at once."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.config.loading import load
from postroom.config.settings import ApiSettings, DaemonSettings
from postroom.core.mailbox import (
    AutoSubmitted,
    DomainPace,
    DoubtPolicy,
    LaneShares,
    Limits,
    Mailbox,
    OnUncertain,
    Pace,
    Relay,
    RetryPolicy,
    Tls,
)
from postroom.core.retention import Retention
from postroom.ports.errors import ConfigError
from support.config_files import MAILBOX, load_text, problems_of, write_settings


WHOLE = """
[daemon]
state_dir = "/srv/state"
drain_s = 2
log_level = "debug"
log_format = "console"
slots = 20
[api]
socket = "/srv/run/api.sock"
mode = "0600"
[retention]
sent_s = 3600
failed_s = 7200
events_s = 60
staged_s = 90.5
[relay.main]
host = "smtp.example.net"
tls = "implicit"
auth = "password"
username = "u@example.com"
password = "env:MAIN_PASSWORD"
pace = { per_second = 14 }
concurrency = 5
max_per_connection = 50
idle_close_s = 10
[[mailbox]]
id = "support"
address = "Support Team <Support@Exämple.com>"
relay = "main"
pace = { per_second = 2, burst = 5, per_minute = 60, per_day = 500 }
concurrency = 2
domain_pace = { "Gmail.com" = { per_second = 0.5, concurrency = 2 } }
lanes = { high = 5, standard = 2, bulk = 1, bulk_per_second = 0.5, reserve_high = 0.2 }
retry = { first_s = 300, factor = 2, jitter = 0, max_attempts = 5 }
on_uncertain = { policy = "resend", after_s = 60.5 }
success_reports = true
limits = { queued = 10, accepted_per_hour = 20, attachment_bytes = 30 }
recipients_allow = ["example.com", "alice@example.org", "*.example.net"]
recipients_deny = ["ceo@example.com"]
divert_to = "staging@example.com"
attachment_roots = ["/srv/reports", "files/../more"]
auto_submitted = "no"
"""


def test_a_whole_file_becomes_typed_settings(tmp_path: Path) -> None:
    settings = load_text(tmp_path, WHOLE, {"MAIN_PASSWORD": "hunter2"})
    assert settings.daemon == DaemonSettings(
        state_dir=Path("/srv/state"),
        log_level=settings.daemon.log_level.DEBUG,
        log_format=settings.daemon.log_format.CONSOLE,
        drain=timedelta(seconds=2),
        slots=20,
    )
    assert settings.api == ApiSettings(Path("/srv/run/api.sock"), 0o600, None)
    assert settings.retention == Retention(
        timedelta(hours=1), timedelta(hours=2), timedelta(minutes=1), timedelta(seconds=90.5)
    )
    assert settings.relays == {
        "main": Relay(
            id="main",
            host="smtp.example.net",
            port=465,
            tls=Tls.IMPLICIT,
            username="u@example.com",
            password="hunter2",
            pace=Pace(per_second=14),
            concurrency=5,
            max_per_connection=50,
            idle_close=timedelta(seconds=10),
        )
    }
    assert settings.mailboxes == {
        "support": Mailbox(
            id="support",
            address="Support@xn--exmple-cua.com",
            display_name="Support Team",
            relay_id="main",
            pace=Pace(2, 5, 60, 500),
            concurrency=2,
            domain_pace={"gmail.com": DomainPace(per_second=0.5, concurrency=2)},
            lanes=LaneShares(5, 2, 1, 0.5, 0.2),
            retry=RetryPolicy(first=timedelta(minutes=5), jitter=0, max_attempts=5),
            limits=Limits(10, 20, 30),
            recipients_allow=("@example.com", "alice@example.org", "*.example.net"),
            recipients_deny=("ceo@example.com",),
            divert_to="staging@example.com",
            attachment_roots=("/srv/reports", str(tmp_path / "more")),
            auto_submitted=AutoSubmitted.NO,
            on_uncertain=DoubtPolicy(OnUncertain.RESEND, timedelta(seconds=60.5)),
            wants_success=True,
        )
    }


def test_success_reports_without_a_return_path_are_warned_of(tmp_path: Path) -> None:
    settings = load_text(tmp_path, f"{MAILBOX}\nsuccess_reports = true")
    (warning,) = settings.warnings
    assert warning.key == "mailbox.support.success_reports"
    assert "return_path" in warning.fix


POLICIES = {
    "hold": ("'hold'", DoubtPolicy()),
    "hold in a table": ("{ policy = 'hold' }", DoubtPolicy()),
    "resend": ("'resend'", DoubtPolicy(OnUncertain.RESEND, timedelta(minutes=15))),
    "assume_sent": ("'assume_sent'", DoubtPolicy(OnUncertain.ASSUME_SENT, timedelta(minutes=15))),
    "a table": ("{ policy = 'assume_sent' }", DoubtPolicy(OnUncertain.ASSUME_SENT, timedelta(minutes=15))),
}  # fmt: skip


@pytest.mark.parametrize(("written", "policy"), POLICIES.values(), ids=POLICIES)
def test_a_policy_for_doubt_is_a_word_or_a_table(
    tmp_path: Path, written: str, policy: DoubtPolicy
) -> None:
    settings = load_text(tmp_path, f"{MAILBOX}\non_uncertain = {written}")
    assert settings.mailboxes["support"].on_uncertain == policy


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    settings = load_text(tmp_path, MAILBOX)
    assert settings.daemon == DaemonSettings()
    assert settings.api == ApiSettings()
    assert settings.retention == Retention()
    mailbox = settings.mailboxes["support"]
    assert mailbox == Mailbox("support", "support@example.com", "Support", "m:support")


def test_a_relay_inside_a_mailbox_is_its_own(tmp_path: Path) -> None:
    relay = load_text(tmp_path, MAILBOX).relays["m:support"]
    assert relay == Relay("m:support", "127.0.0.1", 25, Tls.NONE)


@pytest.mark.parametrize(
    ("tls", "port"), [("starttls", 587), ("implicit", 465), ("none", 25)], ids=str
)
def test_the_port_follows_from_tls(tmp_path: Path, tls: str, port: int) -> None:
    text = f'[relay.r]\nhost = "smtp.example.net"\ntls = "{tls}"\n'
    assert load_text(tmp_path, text).relays["r"].port == port


def test_mailboxes_stand_beside_the_file_and_share_its_relays(tmp_path: Path) -> None:
    more = '[[mailbox]]\nid = "more"\naddress = "more@example.com"\nrelay = "shared"\n'
    relay = '[relay.shared]\nhost = "smtp.example.net"\n'
    path = write_settings(tmp_path, MAILBOX, more=more, relays=relay)
    assert set(load(path, {}).mailboxes) == {"support", "more"}


def test_what_an_editor_leaves_beside_a_mailbox_is_not_read(tmp_path: Path) -> None:
    path = write_settings(tmp_path, MAILBOX, **{".#sales": "half ["})
    (tmp_path / "mailboxes.d" / "sales.toml~").write_text("half [", "utf-8")
    assert list(load(path, {}).mailboxes) == ["support"]


def test_mailboxes_that_can_not_be_listed_are_not_taken_for_none(tmp_path: Path) -> None:
    path = write_settings(tmp_path, MAILBOX)
    (tmp_path / "mailboxes.d").write_text("", "utf-8")
    (problem,) = problems_of(path)
    assert (problem.file, problem.key) == (str(tmp_path / "mailboxes.d"), "")
    assert "can not be read" in problem.wrong


def test_a_relative_path_starts_at_the_folder_of_its_file(tmp_path: Path) -> None:
    text = '[daemon]\nstate_dir = "../state"\n[api]\nsocket = "run/api.sock"\n'
    settings = load_text(tmp_path, text)
    assert settings.daemon.state_dir == tmp_path.parent / "state"
    assert settings.api.socket == tmp_path / "run/api.sock"


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    main = """
[daemon]
state_dri = "x"
slots = "many"
[relay.main]
tls = "maybe"
[[mailbox]]
id = "a"
address = "nobody"
relay = "mian"
"""
    path = write_settings(
        tmp_path, main, broken="x = = 1", other="[daemon]\n[relay.main]\nhost='h'"
    )
    with pytest.raises(ConfigError) as caught:
        load(path, {})
    found = {(Path(one.file).name, one.key) for one in caught.value.problems}
    assert found == {
        ("postroom.toml", "daemon.state_dri"),
        ("postroom.toml", "daemon.slots"),
        ("postroom.toml", "relay.main.tls"),
        ("postroom.toml", "relay.main.host"),
        ("postroom.toml", "mailbox.a.address"),
        ("postroom.toml", "mailbox.a.relay"),
        ("broken.toml", ""),
        ("other.toml", "daemon"),
        ("other.toml", "relay.main"),
    }
    assert len(str(caught.value).splitlines()) == len(found)


def _mailbox(line: str) -> str:
    return MAILBOX + line


def _relay(line: str) -> str:
    return f'[relay.r]\nhost = "smtp.example.net"\n{line}'


_LOGIN = 'auth = "password"\nusername = "u"\n'

WRONG = {
    "an unknown key, with a guess": ("[daemon]\nstate_dri = 'x'", "daemon.state_dri", "'state_dir'"),
    "an unknown key far from all": ("[api]\nzzz = 1", "api.zzz", "Known here: socket, mode, group"),
    "an unknown section": ("[demon]\n", "demon", "'daemon'"),
    "text for a number": ("[daemon]\nslots = '9'", "daemon.slots", "whole number"),
    "a fraction for a whole number": ("[daemon]\nslots = 1.5", "daemon.slots", "whole number"),
    "true for a whole number": ("[daemon]\nslots = true", "daemon.slots", "true or false"),
    "true for a number": ("[daemon]\ndrain_s = true", "daemon.drain_s", "true or false"),
    "a number out of range": ("[daemon]\nslots = 0", "daemon.slots", "at least 1"),
    "a number beyond all": ("[daemon]\ndrain_s = 1" + "0" * 400, "daemon.drain_s", "at most"),
    "more digits than can be read": ("[daemon]\nslots = 1" + "0" * 5000, "", "not TOML"),
    "no number": ("[daemon]\ndrain_s = nan", "daemon.drain_s", "at least 0"),
    "endless": ("[daemon]\ndrain_s = inf", "daemon.drain_s", "at most"),
    "an unknown word": ("[daemon]\nlog_level = 'loud'", "daemon.log_level", "'warning'"),
    "a key for a table": ("daemon = 1", "daemon", "must be a table"),
    "a date for text": ("[daemon]\nstate_dir = 2026-01-01", "daemon.state_dir", "a date or time"),
    "a socket open to all": ("[api]\nmode = '0666'", "api.mode", "every user"),
    "a socket closed to us": ("[api]\nmode = '0060'", "api.mode", "own user"),
    "a mode in decimal": ("[api]\nmode = 660", "api.mode", "must be text"),
    "a mode that is none": ("[api]\nmode = 'rw'", "api.mode", "not a file mode"),
    "an unknown group": ("[api]\ngroup = 'no-such-group'", "api.group", "groupadd"),
    "a long socket": (f"[api]\nsocket = '/{'s' * 107}'", "api.socket", "too long"),
    "retention of a moment": ("[retention]\nsent_s = 1", "retention.sent_s", "at least 60"),
    "access, which comes later": ("[access]\n", "access", "later version"),
    "a relay without a host": ("[relay.r]\n", "relay.r.host", "missing"),
    "a host with a port": (_relay("").replace("net", "net:587"), "relay.r.host", "not a host name"),
    "a relay with a strange name": ("[relay.'a b']\nhost = 'h'", "relay.a b", "letters"),
    "a port beyond all": (_relay("port = 65536"), "relay.r.port", "65,535"),
    "xoauth2, which comes later": (_relay("auth = 'xoauth2'"), "relay.r.auth", "later version"),
    "a login without a name": (_relay("auth = 'password'\npassword = 'env:P'"), "relay.r.username", ""),
    "a login without a password": (_relay(_LOGIN), "relay.r.password", "missing"),
    "a password that is not used": (_relay("password = 'env:P'"), "relay.r.password", "not used"),
    "a login without TLS": (_relay(_LOGIN + "password = 'env:P'\ntls = 'none'"), "relay.r.tls", ""),
    "a CA that is not there": (_relay("tls_ca = '/nowhere.pem'"), "relay.r.tls_ca", "No such file"),
    "a CA without TLS": (_relay("tls = 'none'\ntls_ca = 'x'"), "relay.r.tls_ca", "means nothing"),
    "burst without a rate": (_relay("pace = { burst = 2 }"), "relay.r.pace.burst", "per_second"),
    "no pace at all": (_relay("pace = { per_second = 0 }"), "relay.r.pace.per_second", "more than 0"),
    "an unknown pace": (_relay("pace = { per_hour = 2 }"), "relay.r.pace.per_hour", "not a setting"),
    "a mailbox without a name": ("[[mailbox]]\naddress = 'a@example.com'\nrelay = { host = 'h' }", "mailbox[1].id", ""),
    "a mailbox that is no array": ("[mailbox]\nid = 'x'", "mailbox", "must be a list"),
    "mailboxes that are numbers": ("mailbox = [1]", "mailbox", "[[mailbox]]"),
    "a mailbox twice": (MAILBOX + MAILBOX.replace("support@", "more@"), "mailbox.support.id", "twice"),
    "an address twice": (MAILBOX + MAILBOX.replace('"support"', '"b"'), "mailbox.b.address", "'support'"),
    "a list of addresses": (MAILBOX.replace("<support@", "<a@b.test, support@"), "mailbox.support.address", ""),
    "a header in the name": (MAILBOX.replace("Support <", "X\\nBcc: y <"), "mailbox.support.address", "line end"),
    "a relay that is a number": (MAILBOX.replace('{ host = "127.0.0.1", tls = "none" }', "5"), "mailbox.support.relay", "must be text"),
    "a share of nothing": (_mailbox("lanes = { bulk = 0 }"), "mailbox.support.lanes.bulk", "at least 1"),
    "a reserve of all": (_mailbox("lanes = { reserve_high = 1 }"), "mailbox.support.lanes.reserve_high", ""),
    "a cap below the first wait": (_mailbox("retry = { first_s = 9, cap_s = 8 }"), "mailbox.support.retry.cap_s", ""),
    "a factor below one": (_mailbox("retry = { factor = 0.5 }"), "mailbox.support.retry.factor", ""),
    "a domain that is none": (_mailbox("domain_pace = { 'a b' = {} }"), "mailbox.support.domain_pace.a b", ""),
    "a domain twice": (_mailbox("domain_pace = { 'a.test' = {}, 'A.Test' = {} }"), "mailbox.support.domain_pace.A.Test", "twice"),
    "an unknown domain pace": (_mailbox("domain_pace = { 'a.test' = { per_day = 1 } }"), "mailbox.support.domain_pace.a.test.per_day", ""),
    "a list entry that is none": (_mailbox("recipients_deny = ['a b']"), "mailbox.support.recipients_deny", "'a b'"),
    "a list of numbers": (_mailbox("recipients_allow = [1]"), "mailbox.support.recipients_allow", ""),
    "a divert with a name": (_mailbox("divert_to = 'A <a@b.test>'"), "mailbox.support.divert_to", ""),
    "every file there is": (_mailbox("attachment_roots = ['/']"), "mailbox.support.attachment_roots", ""),
    "a root without a name": (_mailbox("attachment_roots = ['']"), "mailbox.support.attachment_roots", "empty"),
    "a pace slower than any clock": (_relay("pace = { per_second = 1e-320 }"), "relay.r.pace.per_second", "more than 0"),
    "a wait of nothing": (_mailbox("retry = { first_s = 1e-320 }"), "mailbox.support.retry.first_s", "more than 0"),
    "an unknown policy": (_mailbox("on_uncertain = 'forget'"), "mailbox.support.on_uncertain", "'assume_sent'"),
    "an unknown policy in a table": (_mailbox("on_uncertain = { policy = 'forget' }"), "mailbox.support.on_uncertain.policy", "'resend'"),
    "a policy without a word": (_mailbox("on_uncertain = { after_s = 9 }"), "mailbox.support.on_uncertain.policy", "missing"),
    "a policy at once": (_mailbox("on_uncertain = { policy = 'resend', after_s = 0 }"), "mailbox.support.on_uncertain.after_s", "at least 1"),
    "a policy after years": (_mailbox("on_uncertain = { policy = 'resend', after_s = 1e9 }"), "mailbox.support.on_uncertain.after_s", "at most"),
    "a wait for nothing": (_mailbox("on_uncertain = { policy = 'hold', after_s = 9 }"), "mailbox.support.on_uncertain.after_s", "says nothing"),
    "an unknown key of a policy": (_mailbox("on_uncertain = { policy = 'resend', after = 9 }"), "mailbox.support.on_uncertain.after", "after_s"),
    "a policy that is a number": (_mailbox("on_uncertain = 1"), "mailbox.support.on_uncertain", "must be text"),
    "success reports in words": (_mailbox("success_reports = 'yes'"), "mailbox.support.success_reports", "true or false"),
    "a digest at no time": ("[digest]\nat = '24:00'", "digest.at", "hours and minutes"),
    "an owner with a name": (_mailbox("owner = 'Ops <ops@example.com>'"), "mailbox.support.owner", "bare address"),
    "no TOML": ("[daemon", "", "not TOML"),
    "brackets without end": ("x = " + "[" * 100_000, "", "not TOML"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "key", "words"), WRONG.values(), ids=WRONG)
def test_a_wrong_setting_is_named_with_what_to_do(
    tmp_path: Path, text: str, key: str, words: str
) -> None:
    (problem,) = problems_of(write_settings(tmp_path, text), {"P": "hunter2"})
    assert problem.key == key
    assert words in problem.line
    assert problem.line.startswith(str(tmp_path))
    assert problem.wrong.endswith(".")
    assert problem.fix.endswith((".", "?"))
    assert "\n" not in problem.line


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path / "none.toml")
    assert "No such file" in problem.wrong


def test_a_file_that_is_not_utf_8_is_said(tmp_path: Path) -> None:
    path = tmp_path / "postroom.toml"
    path.write_bytes(b"# caf\xe9")
    (problem,) = problems_of(path)
    assert "UTF-8" in problem.line


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.3.2.1", "::1"])
def test_a_login_without_tls_may_go_to_this_machine(tmp_path: Path, host: str) -> None:
    text = _relay(_LOGIN + "password = 'env:P'\ntls = 'none'").replace("smtp.example.net", host)
    assert load_text(tmp_path, text, {"P": "hunter2"}).relays["r"].password == "hunter2"


def test_a_ca_of_ones_own_is_taken_when_it_holds_a_certificate(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    (problem,) = problems_of(write_settings(tmp_path, _relay("tls_ca = 'empty.pem'")))
    assert "no certificate" in problem.wrong


def test_a_ca_that_is_no_plain_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(1 << 30)
    for name, words in (("fifo", "not a file"), ("huge", "too large"), (".", "Is a directory")):
        (problem,) = problems_of(write_settings(tmp_path, _relay(f"tls_ca = '{name}'")))
        assert words in problem.wrong


def test_the_real_environment_is_used_where_none_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "P", "hunter2")
    path = write_settings(tmp_path, _relay(_LOGIN + "password = 'env:P'"))
    assert load(path).relays["r"].password == "hunter2"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (os.mkfifo, "it is not a file"),
        (Path.mkdir, "Is a directory"),
        (lambda path: path.symlink_to("/dev/zero"), "it is not a file"),
        (lambda path: path.write_bytes(b"#" * (16 << 20) + b"\n"), "too large"),
    ],
    ids=["a pipe", "a folder", "a device", "a huge file"],
)
@pytest.mark.parametrize("name", ["postroom.toml", "mailboxes.d/more.toml"])
def test_what_is_no_settings_file_is_said_and_not_waited_for(
    tmp_path: Path, name: str, make: Callable[[Path], object], said: str
) -> None:
    main = write_settings(tmp_path, MAILBOX, other="")
    path = tmp_path / name
    path.unlink(missing_ok=True)
    make(path)
    (problem,) = problems_of(main)
    assert problem.file == str(path)
    assert said in problem.wrong
