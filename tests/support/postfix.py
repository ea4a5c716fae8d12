"""A real Postfix in a directory of its own: takes mail on a port of loopback and hands it on.

What is for agent.test goes to one port, what is for example.com and reply.example.com (our own addresses) to another.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.inward import free_port
from support.peers import needs_peer, needs_root


MAIN = """\
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
myhostname = relay.example.net
mydestination =
mynetworks = 127.0.0.0/8, 192.0.2.0/24
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
relay_domains = agent.test, example.com, reply.example.com
transport_maps = inline:{{ {{ agent.test = smtp:[127.0.0.1]:{next_hop} }},
    {{ example.com = smtp:[127.0.0.1]:{way_in} }}, {{ reply.example.com = smtp:[127.0.0.1]:{way_in} }} }}
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_recipient_restrictions = check_recipient_access inline:{{ {{ gone@agent.test = 550 5.1.1 User unknown }} }}
disable_dns_lookups = yes
smtp_host_lookup = native
smtp_tls_security_level = none
smtpd_tls_security_level = none
smtp_send_xforward_command = yes
smtpd_authorized_xclient_hosts = 127.0.0.0/8
alias_maps =
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
postlog unix-dgram n - n - 1 postlogd
"""


@dataclass(frozen=True)
class Postfix:
    """Where it listens, to whom it hands on (`way_in`: what is for us), and where it writes."""

    port: int
    next_hop: int
    way_in: int
    folder: Path

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def flush(self) -> None:
        """Have it try again at once what waits."""
        _call(needs_peer("postfix"), self.folder, "flush")


@contextmanager
def postfix() -> Iterator[Postfix]:
    """One that runs until the end of the block; nobody listens yet at `next_hop` and `way_in`."""
    command = needs_peer("postfix")
    needs_root()
    # not pytest's folder: Postfix gives up its privileges, and could not walk into that
    folder = Path(tempfile.mkdtemp(prefix="postroom-postfix-"))
    try:
        folder.chmod(0o755)
        port, next_hop, way_in = free_port(), free_port(), free_port()
        (folder / "main.cf").write_text(
            MAIN.format(folder=folder, next_hop=next_hop, way_in=way_in)
        )
        (folder / "master.cf").write_text(MASTER.format(port=port))
        (folder / "queue").mkdir()
        (folder / "data").mkdir()
        os.chown(folder / "data", pwd.getpwnam("postfix").pw_uid, -1)
        _call(command, folder, "start")
        try:
            yield Postfix(port, next_hop, way_in, folder)
        finally:
            _call(command, folder, "stop")
    finally:
        shutil.rmtree(folder)


def _call(command: str, folder: Path, verb: str) -> None:
    done = subprocess.run(
        [command, "-c", str(folder), verb],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
