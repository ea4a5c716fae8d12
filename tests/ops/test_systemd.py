"""The units: they are valid, they leave the daemon little to do harm with, and they fit its settings."""

import configparser
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.config.settings import ApiSettings, DaemonSettings


UNITS = Path(__file__).resolve().parent.parent.parent / "systemd"
LEFT_OPEN = {
    "RestrictAddressFamilies_AF_UNIX": "programs, and systemd itself",
    "RestrictAddressFamilies_AF_INET_INET6": "relays, nameservers, the listener",
    "PrivateNetwork": "the same",
    "IPAddressDeny": "where relays are is for the settings and the DNS to say",
    "PrivateUsers": "callers are known by their uid",
    "ProcSubset": "the boot id",
    "RootDirectoryOrRootImage": "Python and its packages are the host's",
    "DeviceAllow": "ProtectClock= itself lists the clock, for reading",
}
SECONDS = re.compile(r"(\d+)s")


class Unit(configparser.RawConfigParser):
    """A unit file; a key that stands there twice has all its values."""

    def __init__(self, name: str) -> None:
        super().__init__(strict=False, comment_prefixes=("#",), interpolation=None)
        self.optionxform = str  # type: ignore[assignment,method-assign]
        self.read(UNITS / name)

    def seconds(self, key: str) -> timedelta:
        found = SECONDS.fullmatch(self["Service"][key])
        assert found is not None
        return timedelta(seconds=int(found[1]))


@pytest.fixture(scope="session")
def analyze() -> str:
    """systemd-analyze; with POSTROOM_REQUIRE_PEERS=1 it must be there."""
    found = shutil.which("systemd-analyze")
    if found is None and os.environ.get("POSTROOM_REQUIRE_PEERS") != "1":
        pytest.skip("systemd-analyze is not on this machine")
    assert found is not None, "systemd-analyze is required (POSTROOM_REQUIRE_PEERS=1)"
    return found


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units, with a program that is there as the daemon."""
    for path in UNITS.glob("postroom*.*"):
        text = path.read_text("utf-8").replace("/usr/local/bin/postroom", sys.executable)
        (tmp_path / path.name).write_text(text, "utf-8")
    return tmp_path


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=50, check=False)


def test_systemd_finds_nothing_wrong(analyze: str, units: Path) -> None:
    names = ("postroom.service", "postroom.socket", "postroom-smtp.socket")
    done = _run(analyze, "verify", *(str(units / name) for name in names))
    ours = [line for line in done.stderr.splitlines() if "postroom" in line]
    assert (done.returncode, ours) == (0, [])


def test_systemd_sees_a_wrong_setting(analyze: str, units: Path) -> None:
    """The check above can fail."""
    unit = units / "postroom.service"
    unit.write_text(unit.read_text().replace("Type=notify", "Type=notfy"))
    assert "notfy" in _run(analyze, "verify", str(unit)).stderr


def test_the_service_is_exposed_at_most_1_5(analyze: str, units: Path) -> None:
    unit = units / "postroom.service"
    assert _run(analyze, "security", "--offline=true", "--threshold=15", str(unit)).returncode == 0
    unit.write_text(unit.read_text().replace("ProtectSystem=strict", "ProtectSystem=no"))
    assert _run(analyze, "security", "--offline=true", "--threshold=12", str(unit)).returncode == 1


def test_what_stays_open_is_what_the_daemon_needs(analyze: str, units: Path) -> None:
    unit = str(units / "postroom.service")
    told = json.loads(_run(analyze, "security", "--offline=true", "--json=short", unit).stdout)
    assert {one["json_field"] for one in told if one["exposure"] is not None} == set(LEFT_OPEN)


def test_the_daemon_drains_before_systemd_kills_it() -> None:
    assert DaemonSettings().drain < Unit("postroom.service").seconds("TimeoutStopSec")


def test_the_socket_of_the_unit_is_the_one_that_clients_know() -> None:
    assert Unit("postroom.socket")["Socket"]["ListenStream"] == str(ApiSettings().socket)
    assert Unit("postroom.socket")["Socket"]["FileDescriptorName"] == "api"


def test_the_socket_for_mail_is_handed_to_the_daemon_by_its_name() -> None:
    unit = Unit("postroom-smtp.socket")["Socket"]
    assert (unit["Service"], unit["FileDescriptorName"]) == ("postroom.service", "smtp")
    assert unit["ListenStream"] == "25"


def test_a_reload_is_the_command_that_says_what_is_wrong_and_reaches_the_socket_of_the_unit() -> (
    None
):
    """Not the signal, which can not fail; and a Type= that systemd 252 knows."""
    service = Unit("postroom.service")["Service"]
    socket = Unit("postroom.socket")["Socket"]["ListenStream"]
    program = service["ExecStart"].partition(" ")[0]
    assert service["ExecReload"] == f"{program} reload --socket {socket}"
    assert service["Type"] == "notify"
    made = (UNITS / "sysusers.d" / "postroom.conf").read_text("utf-8")
    assert f"m {service['User']} {Unit('postroom.socket')['Socket']['SocketGroup']}" in made


def test_the_state_folder_of_the_unit_is_the_default() -> None:
    name = Unit("postroom.service")["Service"]["StateDirectory"]
    assert DaemonSettings().state_dir == Path("/var/lib") / name


@pytest.mark.parametrize("key", ["RuntimeDirectory", "PrivateUsers", "DynamicUser"])
def test_what_would_harm_is_not_in_the_unit(key: str) -> None:
    """The socket would go, callers would look like nobody, groups would not hold."""
    assert key not in Unit("postroom.service")["Service"]


def test_the_folder_of_the_socket_comes_from_tmpfiles() -> None:
    lines = (UNITS / "tmpfiles.d" / "postroom.conf").read_text("utf-8").splitlines()
    assert "d /run/postroom 2750 postroom postroom-clients" in lines


def test_the_user_and_the_groups_of_the_units_are_made() -> None:
    made = (UNITS / "sysusers.d" / "postroom.conf").read_text("utf-8")
    assert f"u {Unit('postroom.service')['Service']['User']} " in made
    assert f"g {Unit('postroom.socket')['Socket']['SocketGroup']} " in made


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make users and give folders away")
def test_systemd_makes_the_users_and_the_folders(analyze: str, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    root = f"--root={tmp_path}"
    users = _run("systemd-sysusers", root, str(UNITS / "sysusers.d" / "postroom.conf"))
    assert (users.returncode, users.stderr.count("rror")) == (0, 0), users.stderr
    folders = _run(
        "systemd-tmpfiles", "--create", root, str(UNITS / "tmpfiles.d" / "postroom.conf")
    )
    assert (folders.returncode, folders.stderr) == (0, "")
    groups = dict(
        line.split(":")[:3:2] for line in (tmp_path / "etc/group").read_text().splitlines()
    )
    run = (tmp_path / "run/postroom").stat()
    assert stat.S_IMODE(run.st_mode) == 0o2750
    assert run.st_gid == int(groups["postroom-clients"])
    assert stat.S_IMODE((tmp_path / "etc/postroom/credentials").stat().st_mode) == 0o700
