"""The parser process, `python -m postroom.inbound.worker`: reads strangers' mail where it can do no harm.

It takes requests on its standard input and answers on its standard output until its input ends. It has no secrets, no
database and no network of ours; memory, time and the size of files are limited by the kernel, and whoever started it
ends it when a message takes too long (`nursery`).
"""

import resource
import signal
import sys
from errno import EIO
from pathlib import Path
from typing import Final

from postroom.inbound.reading import read_mail
from postroom.inbound.wire import (
    GREETING,
    LENGTH,
    Answer,
    Fault,
    Request,
    Understood,
    framed,
    read_request,
)


CPU_S: Final = 5  # for one message
MEMORY_BYTES: Final = 1024 * 1024 * 1024  # 25 MiB of text take about a third of it
FILE_BYTES: Final = 128 * 1024 * 1024


def main() -> None:
    """Answer until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the daemon's to judge
    _limit(resource.RLIMIT_AS, MEMORY_BYTES)
    _limit(resource.RLIMIT_FSIZE, FILE_BYTES)
    _limit(resource.RLIMIT_CORE, 0)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sink.write(GREETING)
    sink.flush()
    while len(length := source.read(LENGTH.size)) == LENGTH.size:
        request = read_request(source.read(LENGTH.unpack(length)[0]))
        usage = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, int(usage.ru_utime + usage.ru_stime) + 1 + CPU_S)
        sink.write(framed(_answer(request)))
        sink.flush()


def _answer(request: Request) -> Answer:
    try:
        raw = request.raw if request.path is None else Path(request.path).read_bytes()
        return Understood(read_mail(raw or b"", request.envelope_sender, Path(request.directory)))
    except OSError as error:
        return Fault(error.errno or EIO)
    except Exception:  # noqa: BLE001 - whatever a stranger's mail can do ends here
        return Fault(None)


def _limit(kind: int, most: int) -> None:
    """Lower a limit of this process; the hard one stays, for the one on time moves with every message."""
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


if __name__ == "__main__":
    main()
