"""The matrix: a daemon killed on both sides of every commit point, with a dialogue held at every stage.

One house plays one commit point and side with seven dialogues standing still, one at each stage, so that each death is
seven cells. What a dialogue's delivery has to come to is HAZARDS' table: before the mark it is put back and goes once,
after it without an answer it is in doubt and does not go again.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from postroom.client.errors import PostroomError
from postroom.selftest import plays_admin, plays_in, plays_out
from postroom.selftest.door import Hold, Stage
from postroom.selftest.house import PLAIN, Ground, House, NotSo, account
from postroom.selftest.play import Moment, Play
from postroom.selftest.row import Row
from postroom.selftest.settings import HASTY
from postroom.selftest.watching import Side, find_points


PLAYS: Final = (*plays_out.PLAYS, *plays_admin.PLAYS, *plays_in.PLAYS)
STAGES: Final = {
    stage: "uncertain, 1 copy" if stage is Stage.DOT else "sent, 1 copy" for stage in Stage
}
BIG: Final = (
    "big"  # a file that does not fit between two sockets: who sends it can not get past the body
)
BIG_BYTES: Final = 8 << 20  # twice what Linux lets a sender keep (tcp_wmem)

_QUIET_S: Final = 0.1  # in which a copy that must not come would come


@dataclass(frozen=True, slots=True)
class Cell:
    """A play and the side of its commit; the whole of one house."""

    play: Play
    side: Side

    @property
    def name(self) -> str:
        """As people read it."""
        return f"kill {self.side} {self.play.point}"

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of the matrix."""
        return tuple(f"{self.play.point} {self.side} {stage}" for stage in Stage)

    def run(self, ground: Ground) -> Row:
        """Play it."""
        wanted = self.play.before if self.side is Side.BEFORE else self.play.after
        expected = _words(f"{self.play.point} {self.side}", wanted, STAGES.values())
        folder = ground.folder / f"{self.play.point}-{self.side}"
        boxes = {
            PLAIN: HASTY,
            plays_admin.GONE: HASTY,
            plays_out.RESENDING: f"{HASTY}\n{plays_out.ON_UNCERTAIN}",
            plays_out.CAPPED: f"{HASTY}\n{plays_out.ONE_A_DAY}",
            **{f"at-{stage}": HASTY for stage in Stage},
        }
        seen = account(ground, folder, boxes, lambda house: self._play(house, wanted))
        return Row(self.name, expected, seen, self.cells, str(folder))

    def _play(self, house: House, wanted: str) -> str:
        self._die(house)
        return _outlive(house, self.play, wanted)

    def _die(self, house: House) -> None:
        """Lives up to the one that killed itself at the commit point, or did not."""
        self.play.ancestry(house)
        deadly = replace(self.play.birth, point=self.play.point, side=self.side)
        match self.play.moment:
            case Moment.AT_THE_ACT:
                house.start(deadly)
                _hold_everywhere(house)
                self.play.prepare(house)
                house.arm()
                with suppress(PostroomError, OSError):
                    self.play.act(house)
            case Moment.AT_BIRTH:
                house.arm()
                house.start(deadly)
                _hold_everywhere(house)
                self.play.prepare(house)
                with suppress(PostroomError, OSError):
                    self.play.act(house)
            case Moment.AT_A_RESTART:
                house.start()
                _hold_everywhere(house)
                self.play.prepare(house)
                house.kill()
                self.play.act(house)
                house.arm()
                house.start(deadly, is_awaited=False)
        house.await_end()


def find_cells() -> tuple[Cell, ...]:
    """Every death there is a play for."""
    return tuple(Cell(play, side) for play in PLAYS for side in Side)


def is_full(rows: Iterable[Row]) -> Row:
    """A row that says whether every commit point, side and stage was tried."""
    points = find_points()
    wanted = {f"{point} {side} {stage}" for point in points for side in Side for stage in Stage}
    tried = {cell for row in rows if row.is_ok for cell in row.cells}
    missing = sorted(wanted - tried)
    seen = f"{len(tried & wanted)} cells"
    if missing:
        seen += f"; not reached: {', '.join(missing)}"
    return Row(
        f"the matrix is full: {len(points)} commit points, before and after, {len(Stage)} stages",
        f"{len(wanted)} cells",
        seen,
    )


def lay_out(folder: Path) -> None:
    """What houses need in the folder around them."""
    (folder / BIG).write_bytes(bytes(BIG_BYTES))


def _hold_everywhere(house: House) -> None:
    for stage in Stage:
        house.doors[f"at-{stage}"].on(stage, Hold())
        files = [{"path": str(house.ground.folder / BIG), "pin": True}]
        house.hand_in(
            f"{stage}@peer.example",
            box=f"at-{stage}",
            attachments=files if stage is Stage.BODY else [],
        )
    house.until(
        lambda: all(house.doors[f"at-{stage}"].count_held(stage) for stage in Stage),
        "a dialogue held at every stage",
    )


def _outlive(house: House, play: Play, wanted: str) -> str:
    """What the next life makes of it."""
    reached = house.find_reached()
    for door in house.doors.values():
        door.clear()
    house.start()
    with suppress(NotSo):
        house.until(
            lambda: play.look(house) == wanted and _tell_dialogues(house) == [*STAGES.values()],
            "what was expected",
        )
    house.ground.host.sleep(_QUIET_S)
    return _words(reached or "nowhere", play.look(house), _tell_dialogues(house))


def _tell_dialogues(house: House) -> list[str]:
    return [house.tell(f"{stage}@peer.example", f"at-{stage}") for stage in Stage]


def _words(reached: str, found: str, dialogues: Iterable[str]) -> str:
    told = zip(STAGES, dialogues, strict=False)
    wrong = [f"{stage}: {seen}" for stage, seen in told if seen != STAGES[stage]]
    others = "; ".join(wrong) or "every dialogue as it should"
    return f"died {reached}; {found}; {others}"
