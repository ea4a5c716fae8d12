"""The processes that a measurement needs, each on files of its own in a temporary folder and ended with it."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path


ROOT = Path(__file__).parents[1]
ENV = {**os.environ, "PYTHONPATH": f"{ROOT / 'daemon'}{os.pathsep}{ROOT}"}
START_S = 60  # a queue of a million is counted before the daemon answers
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Sink:
    """The relay: benchmarks/sink.py in a process of its own, and a connection that asks it questions."""

    def __init__(self, delay_ms=0, kind=()):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.sink", "0", str(delay_ms), *kind],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=ENV,
        )
        self.port = int(self.process.stdout.readline())
        self.line = socket.create_connection(("127.0.0.1", self.port)).makefile("rwb")
        self.line.readline()

    def ask(self, question):
        self.line.write(question + b"\r\n")
        self.line.flush()
        return self.line.readline()[4:].strip()

    @property
    def count(self):
        return int(self.ask(b"XCOUNT"))

    @property
    def open_now(self):
        return int(self.ask(b"XOPEN"))

    def seen(self, name, within_s=30):
        """When it saw the recipient `t-name@…`, on the monotonic clock; waits for it."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            at = float(self.ask(b"XSEEN " + name.upper().encode()))
            if at:
                return at
            time.sleep(0.001)
        raise TimeoutError(name)

    def wait_count(self, count, within_s=600):
        """Return when it has taken so many; how many it has then."""
        end = time.monotonic() + within_s
        while (taken := self.count) < count:
            if time.monotonic() > end:
                message = f"{taken} of {count} messages came"
                raise TimeoutError(message)
            time.sleep(0.01)
        return taken

    def stop(self):
        self.process.kill()
        self.process.wait()


@contextmanager
def sink(delay_ms=0, *kind):
    """A sink that is gone afterwards; `kind`: "mute", or nothing."""
    one = Sink(delay_ms, kind)
    try:
        yield one
    finally:
        one.stop()


SETTINGS = """\
[daemon]
state_dir = "{folder}/state"
slots = {slots}
[api]
socket = "{folder}/api.sock"
[relay.main]
host = "127.0.0.1"
port = {port}
tls = "none"
concurrency = {connections}
max_per_connection = 100000
[[mailbox]]
id = "bench"
address = "Bench <bench@example.com>"
relay = "main"
concurrency = {connections}
limits = {{ queued = 0 }}
"""


class UnixHttp(http.client.HTTPConnection):
    """HTTP on a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Daemon:
    """The real daemon, with one mailbox that sends to the sink over `connections`; it may be started again and again."""

    def __init__(self, folder, port, connections, more=""):
        self.folder = Path(folder)
        self.state = self.folder / "state"
        self.socket = str(self.folder / "api.sock")
        self.state.mkdir(mode=0o700, exist_ok=True)
        self.config = self.folder / "postroom.toml"
        slots = max(200, 2 * connections)  # a mailbox has half of them at most
        self.config.write_text(
            SETTINGS.format(folder=folder, port=port, connections=connections, slots=slots) + more
        )
        self.config.chmod(0o600)
        self.process = None

    def start(self, within_s=START_S):
        """Start it and wait until it answers; how many seconds that took."""
        began = time.monotonic()
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "postroom.cli", "run", "--config", str(self.config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=ENV,
            )
        while time.monotonic() < began + within_s and self.process.poll() is None:
            try:
                self.http = UnixHttp(self.socket)
                self.get("/v1/readyz")
            except OSError:
                time.sleep(0.005)
            else:
                return time.monotonic() - began
        raise TimeoutError((self.folder / "log").read_text()[-2000:])

    def stop(self):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(70)
        finally:
            self.process.kill()
            self.process.wait()
            self.process = None

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def request(self, method, path, body=None):
        try:
            self.http.request(method, path, body)
            answer = self.http.getresponse()
            content = answer.read()
        except (http.client.HTTPException, OSError):
            self.http.close()
            raise
        if answer.status >= 300:
            raise RuntimeError(content)
        return content

    def get(self, path):
        return self.request("GET", path)

    def json(self, path):
        return json.loads(self.get(path))

    def post(self, path, value):
        return json.loads(self.request("POST", path, json.dumps(value)))

    def metrics(self):
        """Every metric by its name with labels."""
        lines = self.get("/v1/metrics").decode().splitlines()
        pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name.removeprefix("postroom_"): float(value) for name, _, value in pairs}

    def log_line(self, event):
        """The last line of this event."""
        lines = (self.folder / "log").read_text().splitlines()
        return next(json.loads(one) for one in reversed(lines) if f'"{event}"' in one)

    def log_at(self, event):
        """The time of that line, in seconds."""
        return datetime.fromisoformat(self.log_line(event)["at"]).timestamp()

    def cpu_s(self):
        """User and system time of all its threads so far, to the clock tick."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) * TICK_S

    def switches(self):
        """Context switches of all its threads so far, of both kinds."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        texts = [(task / "status").read_text() for task in tasks]
        return sum(int(n) for text in texts for n in re.findall(r"ctxt_switches:\s+(\d+)", text))

    def run_s(self):
        """Time on a processor of all its threads so far, to the nanosecond (schedstat)."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def pss_mb(self):
        """Its proportional share of memory."""
        text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1]) / 1024


@contextmanager
def daemon(folder, port, connections=50, more=""):
    """A daemon that is not started yet, and is gone afterwards; `more` stands below its settings."""
    one = Daemon(folder, port, connections, more)
    try:
        yield one
    finally:
        one.stop()


def free_port():
    """A port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
