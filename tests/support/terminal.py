"""A program in a terminal of its own: what it shows, keys for it, and another size."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from support.real_daemon import env


PATIENCE = 300  # looks, of at most a tenth of a second
_FRAME = re.compile(r"\x1b\[H(.*?)\x1b\[K\x1b\[J", re.DOTALL)


@dataclass
class Terminal:
    """The master side of it; `seen` is all that the program wrote."""

    master: int
    slave: int
    process: subprocess.Popen[bytes]
    seen: str = ""

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGWINCH)

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def frames(self) -> list[list[str]]:
        """Every screen that was drawn whole, as lines."""
        return [one.replace("\x1b[K", "").split("\r\n") for one in _FRAME.findall(self.seen)]

    def until(self, is_so: Callable[[list[str]], bool]) -> list[str]:
        """The first screen from now on of which this is true."""
        seen = max(0, len(self.frames()) - 1)
        for _ in range(PATIENCE):
            found = next((one for one in self.frames()[seen:] if is_so(one)), None)
            if found is not None:
                return found
            self._read()
        raise AssertionError(self.seen[-3000:])

    def end(self) -> int:
        """Its exit code, once it ends by itself."""
        while self.process.poll() is None:
            self._read()
        while self._read():
            pass
        return self.process.wait()

    def settings(self) -> list[Any]:
        return termios.tcgetattr(self.slave)

    def _read(self) -> bool:
        ready, _, _ = select.select([self.master], [], [], 0.1)
        if ready:
            self.seen += os.read(self.master, 65_536).decode("utf-8", "replace")
        return bool(ready)


@contextmanager
def terminal(argv: Sequence[str], columns: int = 100, rows: int = 40) -> Iterator[Terminal]:
    """Run it there until the end of the block."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    # In a group of its own: where ours has nobody outside, the kernel stops nobody of it on SIGTSTP.
    process = subprocess.Popen(
        argv, stdin=slave, stdout=slave, stderr=slave, env=env(TERM="xterm"), process_group=0
    )
    try:
        yield Terminal(master, slave, process)
    finally:
        process.kill()
        process.wait()
        os.close(master)
        os.close(slave)
