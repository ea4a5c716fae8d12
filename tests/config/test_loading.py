"""Settings that load: what each setting becomes, what is left out, and which files are read."""

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
