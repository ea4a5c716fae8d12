"""A house in which real daemons live one after another, on one state directory, in front of the scripted relay."""

import os
import signal
import smtplib
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from postroom.client import Client
from postroom.client.errors import PostroomError
from postroom.client.host import Host
from postroom.selftest.door import Door, Handed
from postroom.selftest.names import Names
from postroom.selftest.nursery import Birth, Nursery
from postroom.selftest.relay import HOST, Relay
from postroom.selftest.settings import Place, settings


Json = dict[str, Any]

PLAIN: Final = "plain"

_LOOK_S: Final = 0.01
_START_S: Final = 20.0
_LONGEST_S: Final = 10.0
_LAST_LINES: Final = 15


class NotSo(Exception):
    """Something did not come to be in time; the text says what, and what the daemon said last."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What all houses share. `folder` holds their folders; once it is `over` nobody waits for anything any more."""

    folder: Path
    host: Host
    nursery: Nursery
    relay: Relay
    names: Names
    over: threading.Event


@dataclass
class House:
    """`boxes` are its mailboxes with lines for their settings; each has a door of the relay to itself."""

    ground: Ground
    folder: Path
    boxes: dict[str, str]
    doors: dict[str, Door] = field(default_factory=dict)
    memo: dict[str, Any] = field(default_factory=dict)
    pid: int = 0
    _mail: socket.socket = field(default_factory=socket.socket)

    def __enter__(self) -> Self:
        self.folder.mkdir(mode=0o700)
        (self.folder / "state").mkdir(mode=0o700)
        self._mail.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._mail.bind((HOST, 0))  # bound and never listening: the port is ours, life after life
        for box in self.boxes:
            self.doors[box] = self.ground.relay.open()
        self.settle_in()
        return self

    def __exit__(self, *_: object) -> None:
        if self.pid:
            with suppress(OSError, NotSo):
                self.kill()
        for door in self.doors.values():
            door.close()
        self._mail.close()

    @property
    def door(self) -> Door:
        """The way out of the plain mailbox."""
        return self.doors[PLAIN]

    @property
    def client(self) -> Client:
        """Asks once, and waits for nobody."""
        return Client(str(self.folder / "s"), retry_s=0, host=self.ground.host)

    @property
    def mail_port(self) -> int:
        """Where the daemon takes mail."""
        port: int = self._mail.getsockname()[1]
        return port

    def settle_in(self, *gone: str) -> None:
        """Write the settings, without the mailboxes that are gone."""
        left = [box for box in self.boxes if box not in gone]
        doors = {box: self.doors[box].port for box in left}
        place = Place(self.folder, self.ground.folder, self.mail_port, self.ground.names.port)
        text = settings(place, {box: (self.boxes[box], port) for box, port in doors.items()})
        config = self.folder / "postroom.toml"
        config.write_text(text, "utf-8")
        config.chmod(0o600)

    # -- daemons

    def start(self, wish: Birth | None = None, *, is_awaited: bool = True) -> None:
        """A new daemon; `wish` says what is special about it."""
        birth = replace(
            wish or Birth("", ""),
            config=str(self.folder / "postroom.toml"),
            log=str(self.folder / "log"),
            armed=str(self.folder / "armed"),
            reached=str(self.folder / "reached"),
        )
        self.pid = self.ground.nursery.start(birth)
        if is_awaited:
            self.await_ready()

    def await_ready(self) -> None:
        """Until it takes jobs. Raises NotSo, also when it ends before."""
        self.until(self._is_ready, "a daemon that is ready", _START_S)

    def arm(self) -> None:
        """From now on the daemon's commit point is deadly."""
        (self.folder / "armed").touch()

    def await_end(self) -> int:
        """How the daemon ended by itself."""
        ended: list[int] = []

        def has_ended() -> bool:
            found = self.ground.nursery.find_end(self.pid)
            ended.extend(() if found is None else (found,))
            return bool(ended)

        self.until(has_ended, "the daemon's end")
        self.pid = 0
        return ended[0]

    def kill(self) -> None:
        """Kill -9."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.await_end()

    def terminate(self) -> None:
        """SIGTERM."""
        os.kill(self.pid, signal.SIGTERM)

    def find_reached(self) -> str:
        """The commit point at which a daemon killed itself, and the side; '' = none did."""
        try:
            return (self.folder / "reached").read_text("ascii").strip()
        except FileNotFoundError:
            return ""

    # -- what goes in, and what is known of it

    def hand_in(self, who: str, *, box: str = PLAIN, **fields: object) -> Json | None:
        """Hand over a job under a key of this recipient's; None where no daemon answered."""
        job = {"mailbox_id": box, "to": [who], "subject": "s", "text": "t", "idempotency_key": who}
        try:
            return self.client.submit({**job, **fields})
        except PostroomError as error:
            self.memo["refused"] = error
            return None

    def find_job(self, key: str) -> Json | None:
        """The job of this key."""
        found: list[Json] = self.client.jobs(idempotency_key=key)["items"]
        return found[0] if found else None

    def find_delivery(self, who: str) -> Json | None:
        """The delivery to somebody who gets one, with its history."""
        job = self.find_job(who)
        return self.client.delivery(job["deliveries"][0]["id"]) if job else None

    def tell(self, who: str, box: str = PLAIN) -> str:
        """The state of somebody's delivery, and how many copies the relay was given."""
        found = self.find_delivery(who)
        state = "unknown" if found is None else str(found["state"])
        return f"{state}, {copies(self.doors[box].copies(who))}"

    def copy_for(self, who: str, box: str = PLAIN) -> Handed:
        """The last copy for somebody."""
        found = [one for one in self.doors[box].handed if one.recipient == who]
        if not found:
            problem = f"no copy for {who} reached the relay"
            raise NotSo(problem)
        return found[-1]

    def mail(self, to: str, text: str, sender: str = "ann@customer.example") -> str:
        """Hand a mail to the daemon's listener; '' where it was taken, else what was said."""
        content = text.replace("\n", "\r\n").encode()
        try:
            with smtplib.SMTP(HOST, self.mail_port, "mx.customer.example", _LONGEST_S) as session:
                session.sendmail(sender, [to], content)
        except smtplib.SMTPRecipientsRefused as refused:
            code, said = refused.recipients[to]
            return f"{code} {said.decode('ascii', 'replace')}"
        except (OSError, smtplib.SMTPException) as fault:
            return f"no answer: {fault}"
        return ""

    def find_events(self, *types: str) -> list[Json]:
        """Events of these types, in order."""
        client = self.client
        return [one for one in client.every(client.events) if one["type"] in types]

    # -- waiting

    def until(self, is_so: Callable[[], object], what: str, longest_s: float = _LONGEST_S) -> None:
        """Wait for something. Raises NotSo."""
        host = self.ground.host
        until_s = host.monotonic_s() + longest_s
        while not is_so():
            if self.ground.over.is_set():
                problem = "interrupted"
                raise NotSo(problem)
            if host.monotonic_s() > until_s:
                problem = f"within {longest_s:.0f} s there was not {what}\n{self.last_words()}"
                raise NotSo(problem)
            host.sleep(_LOOK_S)

    def await_events(self, count: int, *types: str) -> list[Json]:
        """So many events of these types."""
        self.until(lambda: len(self.find_events(*types)) >= count, f"{count} of {types}")
        return self.find_events(*types)

    def await_state(self, who: str, *states: str) -> Json:
        """Somebody's delivery once it is in one of these states."""
        found: list[Json] = []

        def is_there() -> bool:
            one = self.find_delivery(who)
            found[:] = [one] if one else []
            return bool(one and one["state"] in states)

        self.until(is_there, f"{who} {'/'.join(states)}")
        return found[0]

    @property
    def log(self) -> str:
        """What daemons said."""
        return (self.folder / "log").read_text("utf-8", "replace")

    def last_words(self) -> str:
        """The end of it."""
        with suppress(FileNotFoundError):
            return "\n".join(self.log.splitlines()[-_LAST_LINES:])
        return ""

    def _is_ready(self) -> bool:
        ended = self.ground.nursery.find_end(self.pid)
        if ended is not None:
            self.pid = 0
            problem = f"a daemon ended by itself with {ended}\n{self.last_words()}"
            raise NotSo(problem)
        return self.client.is_ready()


def account(
    ground: Ground, folder: Path, boxes: dict[str, str], play: Callable[[House], str]
) -> str:
    """What a play saw in a house of its own, or over what it stumbled."""
    try:
        with House(ground, folder, boxes) as house:
            return play(house)
    except Exception as fault:  # noqa: BLE001 - whatever it is, the row falls short and the others go on
        return f"{type(fault).__name__}: {fault}"


def copies(count: int) -> str:
    """So many, in words."""
    return "1 copy" if count == 1 else f"{count} copies"
