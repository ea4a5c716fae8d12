"""The whole of it: a ground to stand on, rows side by side, and nothing left behind."""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Final, Protocol

from postroom.client.host import Host
from postroom.selftest import chaos, matrix, ugly
from postroom.selftest.house import Ground
from postroom.selftest.names import Names
from postroom.selftest.nursery import COMMAND, Nursery
from postroom.selftest.relay import Relay
from postroom.selftest.row import Row
from postroom.selftest.signature import TEXTS


AT_ONCE: Final = 4  # houses; most of each one's time is waiting

_LONGEST_FOLDER: Final = 60  # bytes, so that a socket beneath it has an address everywhere


@dataclass(frozen=True, slots=True)
class Wish:
    """What to run: the rows of whose name `only` has a word, and so many `runs` of chance with this `seed`.

    `is_kept`: state directories stay; `command` makes daemons.
    """

    only: Sequence[str] = ()
    runs: int = 0
    seed: int = 1
    is_kept: bool = False
    command: Sequence[str] = COMMAND


class Trial(Protocol):
    """Something to be tried in a house of its own."""

    @property
    def name(self) -> str:
        """As people read it."""
        ...

    def run(self, ground: Ground) -> Row:
        """Try it."""
        ...


def run(wish: Wish, tell: Callable[[Row], None]) -> list[Row]:
    """Every row, told as it is done."""
    trials = [one for one in _find_trials() if _is_wanted(one, wish.only)]
    trials += [chaos.Chaos(f"{wish.seed}.{number}") for number in range(1, wish.runs + 1)]
    rows: list[Row] = []
    with ground_for(wish) as ground:
        matrix.lay_out(ground.folder)
        for row in _side_by_side(trials, ground):
            if row.is_ok and not wish.is_kept:
                shutil.rmtree(row.folder, ignore_errors=True)
            rows.append(row)
            tell(row)
    if not wish.only:
        rows.append(matrix.is_full(rows))
        tell(rows[-1])
    return rows


def find_names() -> list[str]:
    """What all rows are called, but those of chance."""
    return [one.name for one in _find_trials()]


def _find_trials() -> tuple[Trial, ...]:
    return (*ugly.TRIALS, *matrix.find_cells())


def _is_wanted(trial: Trial, only: Sequence[str]) -> bool:
    return not only or any(word in trial.name for word in only)


@contextmanager
def ground_for(wish: Wish) -> Iterator[Ground]:
    """What all houses share; it ends with the block, and with it whatever was started on it."""
    with ExitStack() as clean:
        folder = _folder()
        clean.push(_Tidy(folder, is_kept=wish.is_kept))
        relay = Relay(Host())
        relay.start()
        clean.callback(relay.stop)
        names = Names(TEXTS)
        names.start()
        clean.callback(names.stop)
        nursery = Nursery(wish.command)
        clean.callback(nursery.close)
        over = threading.Event()
        clean.callback(over.set)
        yield Ground(folder, Host(), nursery, relay, names, over)


def _side_by_side(trials: Sequence[Trial], ground: Ground) -> Iterator[Row]:
    """Rows as they are done; what has not begun never does when the caller has enough."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        # A signal may raise anywhere in here: a lock of a future that still runs would stay taken.
        done: SimpleQueue[Future[Row]] = SimpleQueue()
        for trial in trials:
            pool.submit(trial.run, ground).add_done_callback(done.put)
        try:
            for _ in trials:
                yield done.get().result()
        finally:
            ground.over.set()
            ground.nursery.close()  # whoever still waits for a daemon's answer waits no more
            pool.shutdown(cancel_futures=True)


def _folder() -> Path:
    """A directory for nobody else."""
    folder = Path(tempfile.mkdtemp(prefix="postroom-selftest-")).resolve()
    plain = str(folder)
    if (
        len(os.fsencode(plain)) <= _LONGEST_FOLDER
        and plain.isprintable()
        and not {'"', "\\"} & set(plain)
    ):
        return folder
    folder.rmdir()
    return Path(tempfile.mkdtemp(prefix="postroom-selftest-", dir="/tmp"))


class _Tidy:
    """Leaves of a folder what rows left that fell short; of one that was interrupted, nothing."""

    def __init__(self, folder: Path, *, is_kept: bool) -> None:
        self._folder = folder
        self._is_kept = is_kept

    def __call__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._is_kept:
            return
        (self._folder / matrix.BIG).unlink(missing_ok=True)
        if kind is not None or not any(self._folder.iterdir()):
            shutil.rmtree(self._folder, ignore_errors=True)
