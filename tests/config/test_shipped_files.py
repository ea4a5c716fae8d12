"""The files in config/: they load as they are, they hold every setting, and the defaults they tell are the true ones."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from postroom.config.loading import load
from postroom.config.settings import (
    ApiSettings,
    DaemonSettings,
    DigestSettings,
    MetricsSettings,
    Settings,
)
from postroom.core.listening import ListenAt, Listening, TokenRules
from postroom.core.mailbox import LaneShares, Limits, Mailbox, Relay, RetryPolicy
from postroom.core.retention import Retention
from support.config_files import ROOT, load_text, problems_of, with_every_setting, write_settings


SHIPPED = ROOT / "config" / "postroom.toml"
NONSENSE = "qqqqqqqq"
SECTIONS = {
    "daemon": f"[daemon]\n{NONSENSE} = 1",
    "api": f"[api]\n{NONSENSE} = 1",
    "retention": f"[retention]\n{NONSENSE} = 1",
    "digest": f"[digest]\n{NONSENSE} = 1",
    "metrics": f"[metrics]\nlisten = '127.0.0.1:9464'\ntoken = 'file:token'\n{NONSENSE} = 1",
    "listener": f"[listener]\nhostname = 'mx.example.com'\n{NONSENSE} = 1",
    "tokens": f"[tokens]\n{NONSENSE} = 1",
    "relay": f"[relay.r]\nhost = 'h'\n{NONSENSE} = 1",
    "relay pace": f"[relay.r]\nhost = 'h'\npace = {{ {NONSENSE} = 1 }}",
    "mailbox": "mailbox",
    "mailbox pace": f"pace.{NONSENSE}",
    "mailbox domain_pace": f"domain_pace.'a.test'.{NONSENSE}",
    "mailbox lanes": f"lanes.{NONSENSE}",
    "mailbox retry": f"retry.{NONSENSE}",
    "mailbox limits": f"limits.{NONSENSE}",
}
PLACES = {
    "relay": ("relay", "main"),
    "relay pace": ("relay", "main", "pace"),
    "mailbox domain_pace": ("mailbox", "domain_pace", "gmail.com"),
}


def _known_settings(section: str, folder: Path) -> set[str]:
    """What the daemon says that it knows in this section, when it is asked for something that it does not know."""
    text = SECTIONS[section]
    if section.startswith("mailbox"):
        key = NONSENSE if section == "mailbox" else text
        text = (
            f"[[mailbox]]\nid = 'm'\naddress = 'm@example.com'\nrelay = {{ host = 'h' }}\n{key} = 1"
        )
    (folder / "token").write_text("0" * 64)
    (folder / "token").chmod(0o600)
    (problem,) = problems_of(write_settings(folder, text))
    found = re.fullmatch(r"Known here: (.+)\.", problem.fix)
    assert found is not None, problem
    return set(found[1].split(", "))


def _uncommented(folder: Path) -> Settings:
    (folder / "main").write_text("hunter2")
    (folder / "metrics").write_text("0" * 64)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "private-ca.pem"))
    issued = authority.issue_cert("mx.example.com")
    issued.cert_chain_pems[0].write_to_path(str(folder / "mx.example.com.pem"))
    issued.private_key_pem.write_to_path(str(folder / "mx.example.com.key"))
    text = with_every_setting(SHIPPED)
    return load_text(folder, text, {"CREDENTIALS_DIRECTORY": str(folder)})


def test_the_shipped_file_loads_as_it_is() -> None:
    settings = load(SHIPPED, {})
    assert settings == Settings(DaemonSettings(), ApiSettings(), Retention(), {}, {})


@pytest.mark.parametrize("section", SECTIONS)
def test_every_setting_stands_in_the_shipped_file(section: str, tmp_path: Path) -> None:
    written: object = tomllib.loads(with_every_setting(SHIPPED))
    for key in PLACES.get(section, tuple(section.split())):
        assert isinstance(written, dict)
        written = written[key]
        written = written[0] if isinstance(written, list) else written
    assert isinstance(written, dict)
    assert set(written) == _known_settings(section, tmp_path)


def test_the_defaults_that_the_shipped_file_tells_are_true(tmp_path: Path) -> None:
    settings = _uncommented(tmp_path)
    assert settings.daemon == DaemonSettings()
    assert settings.api == ApiSettings()
    assert settings.retention == Retention()
    assert settings.digest == DigestSettings()
    assert settings.tokens == TokenRules()
    assert settings.metrics == MetricsSettings(ListenAt("127.0.0.1", 9464), "0" * 64)
    listener = settings.listener
    assert listener is not None
    assert listener == Listening(
        listener.hostname,
        listener.listen,
        listener.domains,
        listener.tls_certificate,
        listener.tls_key,
        postmaster="support",
    )
    relay = settings.relays["main"]
    assert relay == Relay(
        "main",
        relay.host,
        587,
        relay.tls,
        tls_ca=relay.tls_ca,
        username=relay.username,
        password="hunter2",
        pace=relay.pace,
    )
    mailbox = settings.mailboxes["support"]
    assert mailbox == Mailbox(
        "support",
        mailbox.address,
        mailbox.display_name,
        "main",
        pace=mailbox.pace,
        domain_pace=mailbox.domain_pace,
        lanes=replace(LaneShares(), bulk_per_second=1),
        retry=RetryPolicy(),
        limits=Limits(),
        reply_address="r-{token}@reply.example.com",
        return_path="b-{token}@reply.example.com",
        owner="ops@example.com",
    )
    assert settings.warnings == ()


ANYTHING = (
    "true", "-1", "1e308", "nan", '""', '"\\u0000"', '"x"', "[]", "[[1]]", "{}", "{ x = 1 }", "07:00:00",
)  # fmt: skip


@pytest.mark.parametrize("value", ANYTHING)
def test_whatever_is_written_there_is_taken_or_refused_in_words(value: str, tmp_path: Path) -> None:
    lines = with_every_setting(SHIPPED).splitlines()
    for place, line in enumerate(lines):
        if not re.match(r"[a-z_]+ = ", line):
            continue
        name = line.partition(" = ")[0]
        text = "\n".join([*lines[:place], f"{name} = {value}", *lines[place + 1 :]])
        for problem in problems_of(write_settings(tmp_path, text)):
            assert problem.key
            assert problem.wrong
            assert problem.fix


def test_the_development_file_loads() -> None:
    settings = load(ROOT / "config" / "dev.toml", {})
    assert set(settings.mailboxes) == {"dev"}
    assert settings.daemon.state_dir == ROOT / ".dev"


def test_the_example_mailbox_loads_once_it_is_taken_into_use(tmp_path: Path) -> None:
    (tmp_path / "reports.password").write_text("hunter2")
    (tmp_path / "reports.password").chmod(0o600)
    text = with_every_setting(ROOT / "config" / "mailboxes.d" / "example.toml")
    text = text.replace("/etc/postroom/", f"{tmp_path}/")
    settings = load(write_settings(tmp_path, "", example=text), {})
    assert set(settings.mailboxes) == {"reports"}


def test_a_setting_line_that_stays_a_comment_is_prose() -> None:
    """Every '#' that begins a line is followed by a blank, or it is a setting."""
    for line in SHIPPED.read_text("utf-8").splitlines():
        assert not line or re.match(r"# |#\[|#[a-z_]+ = ", line), line
