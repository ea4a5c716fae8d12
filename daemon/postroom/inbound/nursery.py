"""Parser processes for the daemon: started when first needed, at most `size`, each with one message at a time.

A process that takes too long, ends or talks nonsense is killed, and the message is described by its header alone:
`limited` after a time-out, `failed` after a crash. `parse` never raises for what a message does. The loop is never
held: processes are spawned (never forked: the daemon has threads), and large messages are handed over by their path.
"""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from signal import SIGXCPU
from typing import Final

import postroom
from postroom.core.inmail import InMail, Parse
from postroom.inbound.head import read_head
from postroom.inbound.reading import describe_unread, identity
from postroom.inbound.shortage import find_shortage
from postroom.inbound.wire import (
    ANSWER_MOST,
    GREETING,
    LENGTH,
    Fault,
    Garbled,
    Request,
    Understood,
    framed,
    read_answer,
)


WALL_S: Final = 5.0
START_S: Final = 30.0  # a busy machine takes its time to import; that is no message's fault
_STOP_S: Final = 2.0
_HEAD_READ: Final = 256 * 1024  # the listener takes no longer header
_PIECE: Final = 1024 * 1024


class Nursery:
    """The processes. `close` ends them; a message that comes after that starts one again."""

    def __init__(self, size: int = 2, wall_s: float = WALL_S) -> None:
        self._wall_s = wall_s
        self._room = asyncio.Semaphore(size)
        self._idle: list[Process] = []

    async def parse(self, raw: bytes | Path, envelope_sender: str, directory: Path) -> InMail:
        """The message as it was understood; its files lie in `directory`. `envelope_sender` '' is the null one.

        Raises OSError when a file of ours can not be read or written, or there is no process for now (then later is another
        time), nothing else.
        """
        content, path = (raw, None) if isinstance(raw, bytes) else (None, str(raw))
        request = framed(Request(content, path, envelope_sender, str(directory)))
        async with self._room:
            found = await self._answer(request)
        if isinstance(found, InMail):
            return found
        return await asyncio.to_thread(_unread, raw, envelope_sender, found)

    async def close(self) -> None:
        """End the processes that wait; one that reads a message ends with the `parse` that waits for it."""
        while self._idle:
            process = self._idle.pop()
            if process.stdin is not None:
                process.stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(_STOP_S):
                    await process.wait()
            await _end(process)

    async def _answer(self, request: bytes) -> InMail | Parse:
        """What a process makes of it, or how far it came.

        What fails in a process may fail for what earlier messages left in it: then a new one is asked, in the time that is left.
        """
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._wall_s
        used = self._find_idle()
        if used is not None:
            found = await self._ask(used, request, ends_at - loop.time())
            if found is not Parse.FAILED:
                return found
        left = ends_at - loop.time()
        try:
            fresh = await _start()
        except OSError as error:
            if find_shortage(error) is not None:
                raise
            return Parse.FAILED
        return await self._ask(fresh, request, left)

    async def _ask(self, process: Process, request: bytes, seconds: float) -> InMail | Parse:
        """Raises OSError when a file of ours can not be read or written."""
        is_kept = False
        try:
            async with asyncio.timeout(seconds):
                answer = await _exchange(process, request)
            is_kept = answer != Fault(None)
        except TimeoutError:
            return Parse.LIMITED
        except (Garbled, EOFError, OSError):
            # Out of time by the kernel's count is out of time.
            await _end(process)
            return Parse.LIMITED if process.returncode == -SIGXCPU else Parse.FAILED
        finally:
            if is_kept:
                self._idle.append(process)
            else:
                await _end(process)
        match answer:
            case Understood(mail):
                return mail
            case Fault(int(number)):
                raise OSError(number, os.strerror(number))
            case Fault():
                return Parse.FAILED

    def _find_idle(self) -> Process | None:
        """A process that has read a message and lives."""
        while self._idle:
            process = self._idle.pop()
            if process.returncode is None:
                return process
        return None


async def _start() -> Process:
    """A new process that has said that it is ready. Raises OSError."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "postroom.inbound.worker",
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,  # a traceback holds a stranger's text
        env=_environment(),
    )
    is_ready = False
    try:
        async with asyncio.timeout(START_S):
            is_ready = await _read(process, len(GREETING)) == GREETING
    except (TimeoutError, EOFError) as error:
        raise ChildProcessError from error
    finally:
        if not is_ready:
            await _end(process)
    return process


def _environment() -> dict[str, str]:
    """What the process may know: where the code lies, nothing of our secrets."""
    return {
        "PYTHONPATH": str(Path(postroom.__file__).parent.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


async def _exchange(process: Process, request: bytes) -> Understood | Fault:
    """Raises Garbled, EOFError, OSError."""
    if process.stdin is None:
        raise EOFError
    process.stdin.write(request)
    await process.stdin.drain()
    (length,) = LENGTH.unpack(await _read(process, LENGTH.size))
    if length > ANSWER_MOST:
        raise Garbled
    return read_answer(await _read(process, length))


async def _read(process: Process, size: int) -> bytes:
    if process.stdout is None:
        raise EOFError
    return await process.stdout.readexactly(size)  # its IncompleteReadError is an EOFError


async def _end(process: Process) -> None:
    """Kill it if it lives, and take its end in."""
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


def _unread(raw: bytes | Path, envelope_sender: str, how_far: Parse) -> InMail:
    """The message by its header. Blocks: a large one is read for its digest. Raises OSError."""
    beginning = raw[:_HEAD_READ] if isinstance(raw, bytes) else _beginning(raw)
    mail = describe_unread(beginning, envelope_sender)
    head, body = read_head(beginning)
    hashed = sha256(identity(head))
    if isinstance(raw, bytes):
        hashed.update(raw[body:])
    else:
        with raw.open("rb") as file:
            file.seek(body)
            while piece := file.read(_PIECE):
                hashed.update(piece)
    return replace(mail, parse=how_far, dedupe=hashed.hexdigest())


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_READ)
