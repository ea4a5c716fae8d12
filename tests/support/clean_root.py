"""A root as a fresh Debian has it, for commands that install something: its own /etc, /var, /opt, /run and /usr/local.

root = CleanRoot(folder)
root.run("python3 -m venv /opt/postroom")
print(root.path("etc/passwd").read_text())

/usr is the host's, read-only; below /usr/local is nothing. There is no systemd at work: what `systemctl` is asked for is
written into /asked. The checkout is the folder of every command; this Python's packages lie in /packages, and pip asks
nobody but them.
"""

import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from support.peers import APART
from support.real_daemon import SOURCE


ENTER = """
set -eu
for one in usr etc var opt run tmp proc dev python packages checkout; do mkdir -p "$1/$one"; done
mount --bind /usr "$1/usr"
mount -o remount,bind,ro "$1/usr"
mount --bind "$1/local" "$1/usr/local"
mount --bind "$2" "$1/python"
mount --bind "$3" "$1/packages"
mount --bind "$4" "$1/checkout"
mount -o remount,bind,ro "$1/checkout"
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
exec chroot "$1" /bin/sh -euc "cd /checkout
$5"
"""
ENVIRON = {
    "PATH": "/python/bin:/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin",
    "PIP_NO_BUILD_ISOLATION": "0",  # pip turns this word around: no isolation
    "PIP_NO_DEPS": "1",
    "PIP_NO_INDEX": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "LC_ALL": "C.UTF-8",
}
# What packages that every Debian has put there.
FILES = {
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
    "etc/hosts": "127.0.0.1 localhost smtp.example.net\n",
    "etc/ld.so.conf": "/python/lib\n",
    "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "etc/shadow": "root:*:19000:0:99999:7:::\n",
    "etc/gshadow": "root:*::\n",
    "local/bin/systemctl": '#!/bin/sh\necho "$@" >> /asked\n',
}
FOLDERS = (
    "etc/systemd/system",
    "etc/tmpfiles.d",
    "var/lib",
    "var/log",
    "var/backups",
    "run",
    "home",
    "srv",
    "root",
)


@dataclass(frozen=True)
class CleanRoot:
    """The root that lies in this folder; `prepare` makes it."""

    folder: Path

    def prepare(self) -> None:
        for name in (*FOLDERS, "local/bin"):
            (self.folder / name).mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (self.folder / name).symlink_to(f"usr/{name}")
        masters = {"passwd": "passwd.master", "group": "group.master"}
        given = {
            f"etc/{name}": Path("/usr/share/base-passwd", one).read_text("utf-8")
            for name, one in masters.items()
        }
        for name, text in (FILES | given).items():
            self.path(name).write_text(text, "utf-8")
        self.path("etc/shadow").chmod(0o600)
        self.path("local/bin/systemctl").chmod(0o755)
        self.path("tmp").mkdir(mode=0o1777)
        self.run("ldconfig")

    def path(self, name: str) -> Path:
        """Where a file of it lies outside."""
        return self.folder / name

    def words(self, script: str) -> list[str]:
        """What runs a script in it."""
        places = (sys.base_prefix, sysconfig.get_path("purelib"), str(SOURCE.parent))
        return [*APART, "sh", "-c", ENTER, "sh", str(self.folder), *places, script]

    def run(self, script: str) -> str:
        """What a script prints that ends well."""
        done = subprocess.run(
            self.words(script),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
            check=False,
            env=ENVIRON,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout
