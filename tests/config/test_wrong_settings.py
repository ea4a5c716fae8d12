"""Settings that do not load: each fault is named with what to do, and all of them are said at once."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from postroom.config.loading import load
from postroom.ports.errors import ConfigError
from support.config_files import LOGIN, MAILBOX, problems_of, relay_with, write_settings


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
    "a host with a port": (relay_with("").replace("net", "net:587"), "relay.r.host", "not a host name"),
    "a relay with a strange name": ("[relay.'a b']\nhost = 'h'", "relay.a b", "letters"),
    "a port beyond all": (relay_with("port = 65536"), "relay.r.port", "65,535"),
    "xoauth2, which comes later": (relay_with("auth = 'xoauth2'"), "relay.r.auth", "later version"),
    "a login without a name": (relay_with("auth = 'password'\npassword = 'env:P'"), "relay.r.username", ""),
    "a login without a password": (relay_with(LOGIN), "relay.r.password", "missing"),
    "a password that is not used": (relay_with("password = 'env:P'"), "relay.r.password", "not used"),
    "a login without TLS": (relay_with(LOGIN + "password = 'env:P'\ntls = 'none'"), "relay.r.tls", ""),
    "a CA that is not there": (relay_with("tls_ca = '/nowhere.pem'"), "relay.r.tls_ca", "No such file"),
    "a CA without TLS": (relay_with("tls = 'none'\ntls_ca = 'x'"), "relay.r.tls_ca", "means nothing"),
    "burst without a rate": (relay_with("pace = { burst = 2 }"), "relay.r.pace.burst", "per_second"),
    "no pace at all": (relay_with("pace = { per_second = 0 }"), "relay.r.pace.per_second", "more than 0"),
    "an unknown pace": (relay_with("pace = { per_hour = 2 }"), "relay.r.pace.per_hour", "not a setting"),
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
    "a pace slower than any clock": (relay_with("pace = { per_second = 1e-320 }"), "relay.r.pace.per_second", "more than 0"),
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


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (os.mkfifo, "it is not a file"),
        (Path.mkdir, "Is a directory"),
        (lambda path: path.symlink_to("/dev/zero"), "it is not a file"),
        (lambda path: path.write_bytes(b"#" * (4 << 20) + b"\n"), "too large"),
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
