"""A Postfix in a folder of its own: what tests and measurements need of one alike.

Imports nothing but the standard library, so that the benchmarks have it too.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


MAIN = """\
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
smtpd_relay_restrictions = permit_mynetworks, reject
disable_dns_lookups = yes
smtp_tls_security_level = none
smtpd_tls_security_level = none
"""
MASTER = """\
{port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
tlsmgr unix - - n 1000? 1 tlsmgr
postlog unix-dgram n - n - 1 postlogd
"""


@contextmanager
def postfix_in(
    folder: Path, settings: str, port: int, command: str, master: str = MASTER
) -> Iterator[None]:
    """One that listens on this port until the end of the block; `settings` stand below those of every one."""
    folder.chmod(0o755)
    (folder / "main.cf").write_text(MAIN.format(folder=folder) + settings)
    (folder / "master.cf").write_text(master.format(port=port))
    (folder / "queue").mkdir()
    (folder / "data").mkdir()
    shutil.chown(folder / "data", "postfix")
    control(folder, command, "start")
    try:
        yield
    finally:
        control(folder, command, "stop")


def control(folder: Path, command: str, verb: str) -> None:
    """Have the Postfix of this folder do something."""
    done = subprocess.run(
        [command, "-c", str(folder), verb],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
