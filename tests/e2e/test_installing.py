"""What docs/operating.md says about installing, upgrading and uninstalling, done word for word in a clean root.

There is no systemd that could start anything: what `systemctl` is asked for is noted, units are verified, and the daemon is
started by hand as its unit says, with its socket activated.
"""

import importlib.util
import os
import re
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.clean_root import ENVIRON, CleanRoot
from support.config_files import ROOT
from support.confined import UNIT
from support.peers import needs_own_mounts, needs_peer
from support.seccomp import read_unit


PAGE = (ROOT / "docs" / "operating.md").read_text("utf-8")
UNITS = "/etc/systemd/system/postroom.service /etc/systemd/system/postroom.socket /etc/systemd/system/postroom-smtp.socket"
MODES = {
    "etc/postroom": "0o755 root root",
    "etc/postroom/postroom.toml": "0o644 root root",
    "etc/postroom/mailboxes.d": "0o755 root root",
    "etc/postroom/credentials": "0o700 root root",
    "run/postroom": "0o2750 postroom postroom-clients",
    "etc/systemd/system/postroom.service": "0o644 root root",
    "etc/systemd/system/postroom.socket": "0o644 root root",
    "etc/systemd/system/postroom-smtp.socket": "0o644 root root",
    "etc/sysusers.d/postroom.conf": "0o644 root root",
    "etc/tmpfiles.d/postroom.conf": "0o644 root root",
    "local/share/man/man1/postroom.1": "0o644 root root",
    "local/share/man/man1/postroom-sendmail.1": "0o644 root root",
    "local/share/man/man5/postroom.toml.5": "0o644 root root",
    "local/bin/postroom": "0o755 root root",
}
# What systemd does for the unit: its folder of state, the credentials, the user, the rights.
START = """
install -d -m 700 -o postroom -g postroom /var/lib/postroom
install -d -m 500 -o postroom -g postroom /run/credentials
install -m 400 -o postroom -g postroom /etc/postroom/credentials/reports /run/credentials/relay_reports
umask 0077
exec systemd-socket-activate --listen=/run/postroom/api.sock --fdname=api \\
    --setenv=CREDENTIALS_DIRECTORY=/run/credentials \\
    setpriv --reuid=postroom --regid=postroom --init-groups --no-new-privs --bounding-set=-all {command}
"""
LISTENS = """
timeout 20 sh -c 'until test -S /run/postroom/api.sock; do sleep 0.05; done'
chmod 660 /run/postroom/api.sock
"""
SEND = "postroom send --mailbox reports --to bob@example.com --subject Report --text Done"


def block(section: str, kind: str = "sh", number: int = 0) -> str:
    """The commands of a section of the page."""
    text = re.split(r"(?m)^#+ ", PAGE.split(f"# {section}\n", 1)[1])[0]
    return re.findall(rf"(?ms)^```{kind}\n(.*?)^```", text)[number]


@pytest.fixture
def root() -> Iterator[CleanRoot]:
    needs_own_mounts()
    needs_peer("systemd-socket-activate")
    is_required = os.environ.get("POSTROOM_REQUIRE_PEERS") == "1"
    if importlib.util.find_spec("hatchling") is None and not is_required:
        pytest.skip("hatchling, which builds the package, is not installed")
    with TemporaryDirectory(prefix="postroom-test-") as name:
        Path(name).chmod(0o755)
        made = CleanRoot(Path(name))
        made.prepare()
        yield made


def install(root: CleanRoot) -> None:
    """The first block and what follows it, up to where systemd would start the daemon."""
    environment, rest = block("Install under systemd").split("\n", 1)
    root.run(environment)
    (packages,) = root.path("opt/postroom/lib").glob("python3*/site-packages")
    (packages / "index.pth").write_text("/packages\n")
    root.run(rest)
    mailbox = root.path("etc/postroom/mailboxes.d/reports.toml")
    mailbox.write_text(block("Install under systemd", "toml"), "utf-8")
    password = root.path("etc/postroom/credentials/reports")
    password.touch(mode=0o600)
    password.write_text("secret\n")
    root.path("srv/reports").mkdir()
    root.run("useradd --user-group alice; useradd --user-group bob")
    check, started, members, _ = block("Install under systemd", number=1).splitlines()
    root.run(f"{check}\n{started}\n{members}")


@contextmanager
def started(root: CleanRoot) -> Iterator[None]:
    """The daemon, started as its unit says; it begins when somebody connects."""
    (command,) = read_unit(UNIT).all("ExecStart")
    root.path("run/postroom/api.sock").unlink(missing_ok=True)
    with root.path("log").open("ab") as log:
        process = subprocess.Popen(
            root.words(START.format(command=command)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=ENVIRON,
        )
    try:
        root.run(LISTENS)
        yield
        process.terminate()
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()


def as_user(name: str, command: str) -> str:
    return f"setpriv --reuid={name} --regid={name} --init-groups {command}"


def seen(root: CleanRoot, name: str) -> str:
    """Mode, owner and group of a file, by the names that the root has for them."""
    place = root.path(name)
    if place.is_symlink():  # it leads elsewhere in the root, and outside nowhere
        place = root.path(str(place.readlink())[1:])
    held = place.stat()
    lines = [root.path(f"etc/{one}").read_text().splitlines() for one in ("passwd", "group")]
    users, groups = ({row.split(":")[2]: row.split(":")[0] for row in rows} for rows in lines)
    mode = oct(stat.S_IMODE(held.st_mode))
    return f"{mode} {users[str(held.st_uid)]} {groups[str(held.st_gid)]}"


def test_it_is_installed_upgraded_and_taken_away_as_the_page_says(root: CleanRoot) -> None:
    install(root)
    assert {name: seen(root, name) for name in MODES} == MODES
    root.run(f"systemd-analyze verify {UNITS}")
    with started(root):
        job = root.run(as_user("alice", SEND)).split()[0]
        root.run(f"{as_user('bob', SEND)} && exit 1; test $? = 77")
        assert "reports" in root.run(as_user("alice", "postroom mailboxes"))
        assert seen(root, "var/lib/postroom") == "0o700 postroom postroom"
        assert seen(root, "var/lib/postroom/postroom.db") == "0o600 postroom postroom"
        assert "accepts mail" in root.run(block("Upgrade"))
    with started(root):
        assert "bob@example.com" in root.run(as_user("alice", f"postroom show {job}"))
    root.run(block("Uninstall"))
    left = {
        str(one.relative_to(root.folder))
        for one in root.folder.rglob("*postroom*")
        if not one.is_relative_to(root.path("checkout"))
    }
    kept = {
        one for one in left if one.startswith(("etc/postroom", "var/lib/postroom", "var/backups"))
    }
    assert left == kept
    assert root.path("var/lib/postroom/postroom.db").exists()
    assert root.path("etc/postroom/credentials/reports").read_text() == "secret\n"
    assert root.path("asked").read_text().splitlines() == [
        "daemon-reload",
        "enable --now postroom.socket postroom.service",
        "stop postroom.service",
        "daemon-reload",
        "start postroom.service",
        "disable --now postroom.socket postroom-smtp.socket postroom.service",
        "daemon-reload",
    ]
    root.run(
        "rm -rf /var/lib/postroom /etc/postroom && userdel postroom && groupdel postroom-clients"
    )
