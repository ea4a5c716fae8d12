"""The lines of all mailboxes, in the order of their turns, and which of them have something to do."""

from collections.abc import Iterable, Mapping

from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.core.world import World
from postroom.outbound.line import Line
from postroom.outbound.ready import AT_ONCE, Feed


class Lines:
    """A line for each mailbox. `awake` are those with something to do, so that the others cost nothing."""

    def __init__(self, worlds: Mapping[str, World]) -> None:
        self._lines = {mailbox_id: Line(world) for mailbox_id, world in worlds.items()}
        self._turns = list(self._lines)
        self._awake: dict[str, Line] = {}

    @property
    def awake(self) -> Iterable[Line]:
        """Those with something to do."""
        return self._awake.values()

    @property
    def feeds(self) -> list[Feed]:
        """All of their feeds."""
        return [feed for line in self._awake.values() for feed in line.feeds]

    def values(self) -> Iterable[Line]:
        """Every line there is."""
        return self._lines.values()

    def find(self, mailbox_id: str) -> Line | None:
        """The line of a mailbox, None = it is not in the settings."""
        return self._lines.get(mailbox_id)

    def in_turn(self) -> list[Line]:
        """Those that are awake; who was served last comes last."""
        return [self._lines[one] for one in self._turns if one in self._awake]

    def served(self, mailbox_id: str) -> None:
        """The others come first now."""
        self._turns.remove(mailbox_id)
        self._turns.append(mailbox_id)

    def note(self, mailbox_id: str, lane: Lane, domain: str | None, due_at: Instant) -> None:
        """A commit put rows into this lane; of a mailbox that is not in the settings nothing is noted."""
        line = self._lines.get(mailbox_id)
        if line is not None:
            line.note(lane, domain, due_at)
            self._awake[mailbox_id] = line

    def forget(self, numbers: Iterable[int]) -> None:
        """These rows wait no more."""
        for line in self._awake.values():  # where nothing waits nothing is known
            for number in numbers:
                line.forget(number)

    def rest(self) -> None:
        """Let those sleep in which nothing waits."""
        self._awake = {id_: line for id_, line in self._awake.items() if not line.is_quiet}

    def switch(self, worlds: Mapping[str, World]) -> None:
        """Go on with these mailboxes; who is new is read from the start."""
        for mailbox_id in self._lines.keys() - worlds.keys():
            del self._lines[mailbox_id]
            self._turns.remove(mailbox_id)
            self._awake.pop(mailbox_id, None)
        for mailbox_id, world in worlds.items():
            line = self._lines.get(mailbox_id)
            if line is not None:
                line.world = world
                continue
            self._lines[mailbox_id] = Line(world)
            self._turns.append(mailbox_id)
            for lane in Lane:
                self.note(mailbox_id, lane, None, AT_ONCE)
