"""Where the metrics may be read over TCP."""

from pathlib import Path

import pytest

from postroom.config.settings import MetricsSettings
from postroom.core.listening import ListenAt
from support.config_files import MAILBOX, load_text, problems_of, write_settings


TOKEN = "0123456789abcdef" * 2
REFERENCE = "env:TOKEN"
ENVIRON = {"TOKEN": TOKEN, "SHORT": TOKEN[:31], "STRANGE": "two words" + TOKEN}


def settings(listen: str = "127.0.0.1:9464", *, token: str = REFERENCE) -> str:
    return f"{MAILBOX}\n[metrics]\nlisten = '{listen}'\ntoken = '{token}'\n"


@pytest.mark.parametrize(
    ("written", "host"),
    [("127.0.0.1:9464", "127.0.0.1"), ("127.0.0.2:9464", "127.0.0.2"), ("[::1]:9464", "::1")],
)
def test_an_address_on_loopback_is_taken(written: str, host: str, tmp_path: Path) -> None:
    found = load_text(tmp_path, settings(written), ENVIRON).metrics
    assert found == MetricsSettings(ListenAt(host, 9464), TOKEN)
    assert TOKEN not in repr(found)


def test_without_the_table_they_are_on_the_socket_alone(tmp_path: Path) -> None:
    assert load_text(tmp_path, MAILBOX).metrics is None


@pytest.mark.parametrize(
    ("text", "key", "wrong"),
    [
        (settings("0.0.0.0:9464"), "metrics.listen", "not on loopback"),
        (settings("192.0.2.1:9464"), "metrics.listen", "not on loopback"),
        (settings("[::]:9464"), "metrics.listen", "not on loopback"),
        (settings("localhost:9464"), "metrics.listen", "no address and port"),
        (settings("127.0.0.1"), "metrics.listen", "no address and port"),
        (settings("127.0.0.1:0"), "metrics.listen", "no address and port"),
        (settings(token=TOKEN), "metrics.token", "not a reference"),
        (settings(token="env:NOWHERE"), "metrics.token", "not set"),
        (settings(token="env:SHORT"), "metrics.token", "is no token"),
        (settings(token="env:STRANGE"), "metrics.token", "is no token"),
        ("[metrics]\nlisten = '127.0.0.1:9464'", "metrics.token", "is missing"),
        ("[metrics]\ntoken = 'env:TOKEN'", "metrics.listen", "is missing"),
    ],
)
def test_what_would_let_in_others_is_refused(
    text: str, key: str, wrong: str, tmp_path: Path
) -> None:
    (problem,) = problems_of(write_settings(tmp_path, text), ENVIRON)
    assert problem.key == key
    assert wrong in problem.wrong
    assert TOKEN not in f"{problem}"


def test_it_may_stand_in_the_main_file_only(tmp_path: Path) -> None:
    beside = settings().removeprefix(MAILBOX)
    (problem,) = problems_of(write_settings(tmp_path, MAILBOX, other=beside), ENVIRON)
    assert problem.fix.startswith("Move it into the main file")
