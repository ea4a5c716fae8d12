"""Postfix beside us: set up in its favour, without syslog, TLS and logins, as SMTP in and SMTP out; and its generator of mail."""

import subprocess
from contextlib import contextmanager
from pathlib import Path

from tests.support.postfix_process import MASTER, postfix_in

from benchmarks.peers import free_port


SETTINGS = """\
myhostname = bench.test
local_recipient_maps =
mynetworks = 127.0.0.0/8
transport_maps = inline:{{ {{ agent.test = smtp:[127.0.0.1]:{sink} }} }}
# In its favour: no bound of processes, no wait at the door, connections kept, a large active queue.
default_process_limit = 300
in_flow_delay = 0
smtpd_client_connection_count_limit = 0
smtpd_client_connection_rate_limit = 0
smtp_connection_cache_destinations = [127.0.0.1]:{sink}
smtp_connection_reuse_time_limit = 3600s
qmgr_message_active_limit = 200000
qmgr_message_recipient_limit = 200000
smtp_destination_concurrency_limit = {connections}
default_destination_concurrency_limit = {connections}
initial_destination_concurrency = {connections}
"""
COMMANDS = Path("/usr/sbin")


class Postfix:
    """One that listens on this port."""

    def __init__(self, port):
        self.port = port

    def submit(self, count, submitters):
        """Hand it `count` messages of 2 KiB from so many sessions at once."""
        smtp_source(self.port, count, submitters)


def smtp_source(port, count, sessions, size=2048, recipient="someone@agent.test"):
    """Postfix's own generator: `count` messages of so many bytes from so many sessions at once."""
    amount = ["-s", str(sessions), "-l", str(size), "-m", str(count)]
    parties = ["-f", "bench@example.com", "-t", recipient]
    command = [COMMANDS / "smtp-source", "-d", *amount, *parties, f"127.0.0.1:{port}"]
    subprocess.run(command, check=True, timeout=120)


@contextmanager
def postfix(folder, sink_port, connections, master=MASTER):
    """A Postfix that runs, and is gone afterwards."""
    port = free_port()
    settings = SETTINGS.format(sink=sink_port, connections=connections)
    with postfix_in(Path(folder), settings, port, str(COMMANDS / "postfix"), master):
        yield Postfix(port)
