"""A real Postfix in a directory of its own: takes mail on a port of loopback and hands it on.

What is for agent.test goes to one port, what is for example.com and reply.example.com (our own addresses) to another.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.inward import free_port
from support.peers import needs_peer, needs_root
from support.postfix_process import control, postfix_in


SETTINGS = """\
myhostname = relay.example.net
mynetworks = 127.0.0.0/8, 192.0.2.0/24
relay_domains = agent.test, example.com, reply.example.com
transport_maps = inline:{{ {{ agent.test = smtp:[127.0.0.1]:{next_hop} }},
    {{ example.com = smtp:[127.0.0.1]:{way_in} }}, {{ reply.example.com = smtp:[127.0.0.1]:{way_in} }} }}
smtpd_recipient_restrictions = check_recipient_access inline:{{ {{ gone@agent.test = 550 5.1.1 User unknown }} }}
smtp_host_lookup = native
smtp_send_xforward_command = yes
smtpd_authorized_xclient_hosts = 127.0.0.0/8
alias_maps =
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
        control(self.folder, needs_peer("postfix"), "flush")


@contextmanager
def postfix() -> Iterator[Postfix]:
    """One that runs until the end of the block; nobody listens yet at `next_hop` and `way_in`."""
    command = needs_peer("postfix")
    needs_root()
    port, next_hop, way_in = free_port(), free_port(), free_port()
    settings = SETTINGS.format(next_hop=next_hop, way_in=way_in)
    # not pytest's folder: Postfix gives up its privileges, and could not walk into that
    with tempfile.TemporaryDirectory(prefix="postroom-postfix-") as name:
        folder = Path(name)
        with postfix_in(folder, settings, port, command):
            yield Postfix(port, next_hop, way_in, folder)
