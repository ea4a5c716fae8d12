"""Random deaths: jobs and mail go in, the relay misbehaves, the daemon is killed ten times; then all of it is counted.

Each run is a house of its own with a seed: where the daemon dies (at a commit point or wherever it is), what the relay
does at which stage, what is handed in meanwhile. When the last daemon has settled everything:
- every job is there, whether its caller was answered or came again, and every delivery has ended;
- who is `sent` was given one copy, who is `failed` none, who is in doubt at most one; a mailbox that sends once more
  what is in doubt gave at most one copy more, under the same Message-ID;
- every mail is one event;
- no death left more doubts than connections were open in that life.
The seed makes the same choices again, not the same moments: what the machine does meanwhile is its own.
"""

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from postroom.selftest.chance import Chance
from postroom.selftest.door import Act, HangUp, Hold, Say, Stage, Wait
from postroom.selftest.house import PLAIN, Ground, House, Json, NotSo, account, copies
from postroom.selftest.nursery import Birth
from postroom.selftest.play import SUPPORT
from postroom.selftest.plays_out import ON_UNCERTAIN, RESENDING
from postroom.selftest.row import Row
from postroom.selftest.settings import HASTY
from postroom.selftest.watching import RECOVER, Side


DEATHS: Final = 10  # in a run

_EXPECTED: Final = f"{DEATHS} deaths, nothing lost, nothing twice, every doubt in sight"
_POINTS: Final = (
    "intake.accept",
    "loop.start",
    "loop.mark",
    "loop.finish",
    "inbox.receive",
    "inbox.publish",
    "doubts.settle_due",
    RECOVER,
)
_ACTS: Final[tuple[tuple[Act, ...], ...]] = (
    (Say("451 4.3.0 Later"),),
    (Say("451 4.3.0 Later"),),
    (HangUp(),),
    (Hold(),),
    (Wait(0.02),),
    (Wait(0.1),),
)
_STAGES: Final = tuple(Stage)
_MOST_RULES: Final = 3
_MOST_JOBS: Final = 4
_MOST_MAILS: Final = 1
_LONGEST_LIFE_S: Final = 0.2
_SETTLED_S: Final = 60.0
_QUIET_S: Final = 0.2
_LETTER: Final = """\
From: Ann <ann@customer.example>
To: plain@example.com
Subject: Letter {name}
Date: Mon, 30 Nov 2026 09:00:00 +0000
Message-ID: <letter-{name}@customer.example>

This is letter {name}.
"""


@dataclass
class _Story:
    """What was handed in, what the relay saw, and what was wrong."""

    house: House
    chance: Chance
    jobs: dict[str, str] = field(default_factory=dict)
    letters: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    were_open: int = 0

    def live_and_die(self) -> None:
        """One life of a daemon, up to its violent end."""
        house, chance = self.house, self.chance
        self._write_script()
        (house.folder / "armed").unlink(missing_ok=True)
        point = chance.one_of(_POINTS) if chance.below(3) else None
        side = chance.one_of(list(Side))
        if point == RECOVER:
            house.arm()
        house.start(Birth("", "", point=point, side=side), is_awaited=False)
        with suppress(NotSo):
            house.await_ready()
            self._check_doubts()
            self._hand_in()
            house.arm()
            self._hand_in()
            house.ground.host.sleep(chance.below(1000) / 1000 * _LONGEST_LIFE_S)
        if house.pid:
            house.kill()
        self.were_open += sum(door.most_open for door in house.doors.values())

    def settle(self) -> None:
        """The last daemon, with a relay that takes everything; callers and peers come again."""
        house = self.house
        for door in house.doors.values():
            door.clear()
        house.start()
        self._check_doubts()
        for box in house.doors:
            house.client.resume(box)  # what the relay did may have opened a breaker
        for who, box in self.jobs.items():
            if house.hand_in(who, box=box) is None:
                self.wrong.append(f"{who} was not taken: {house.memo['refused']}")
        for name in self.letters:
            said = house.mail(SUPPORT, _LETTER.format(name=name))
            self.wrong += [f"letter {name}: {said}"] if said else []
        house.until(self._is_settled, "an end of everything", _SETTLED_S)
        house.ground.host.sleep(_QUIET_S)

    def count(self) -> None:
        """Hold all of it against what was promised."""
        for who, box in self.jobs.items():
            found = self.house.find_delivery(who)
            if found is None:
                self.wrong.append(f"{who} is lost")
            else:
                self._count_copies(who, box, found)
        subjects = [one["message"]["subject"] for one in self.house.find_events("message.received")]
        for name in self.letters:
            times = subjects.count(f"Letter {name}")
            self.wrong += [] if times == 1 else [f"letter {name} is {times} events"]

    def _write_script(self) -> None:
        for door in self.house.doors.values():
            door.clear()
            door.most_open = 0
            for _ in range(self.chance.below(_MOST_RULES + 1)):
                acts = self.chance.one_of(_ACTS)
                door.on(self.chance.one_of(_STAGES), *acts, times=1 + self.chance.below(3))

    def _hand_in(self) -> None:
        """A few jobs and mails; what nobody answered is noted all the same."""
        house, chance = self.house, self.chance
        for _ in range(1 + chance.below(_MOST_JOBS)):
            who = f"r{len(self.jobs)}@peer{chance.below(3)}.example"
            box = RESENDING if chance.below(3) == 0 else PLAIN
            self.jobs[who] = box
            house.hand_in(who, box=box)
        for _ in range(chance.below(_MOST_MAILS + 1)):
            self.letters.append(f"n{len(self.letters)}")
            house.mail(SUPPORT, _LETTER.format(name=self.letters[-1]))

    def _check_doubts(self) -> None:
        """What the recovery of this life found in doubt, against what was open in the life before."""
        lines = [one for one in self.house.log.splitlines() if '"daemon.recovered"' in one]
        found = json.loads(lines[-1])["to_uncertain"]
        if found > self.were_open:
            self.wrong.append(f"{found} doubts after a life with {self.were_open} connections")
        self.were_open = 0  # what died before its recovery leaves the doubts of the one before it

    def _is_settled(self) -> bool:
        house = self.house
        for state in ("pending", "sending", "retry_scheduled"):
            if house.client.deliveries(state=state)["items"]:
                return False
        page = house.client.deliveries(state="uncertain", mailbox_id=RESENDING)
        has_more = any(one["resends"] == 0 for one in page["items"])
        return not has_more and len(house.find_events("message.received")) >= len(self.letters)

    def _count_copies(self, who: str, box: str, found: Json) -> None:
        handed = [one for one in self.house.doors[box].handed if one.recipient == who]
        given = [one for one in handed if one.is_copy]
        ids = {one.message["Message-ID"] for one in given}
        most = 1 if box == PLAIN else 1 + found["resends"]
        least = 1 if found["state"] == "sent" else 0
        is_ended = found["state"] in {"sent", "uncertain"} or (
            found["state"] == "failed" and found["reason_code"] == "poison" and not given
        )
        is_right = is_ended and least <= len(given) <= most and len(ids) <= 1
        if not is_right or found["resends"] > 1:
            reason = found["reason_code"]
            self.wrong.append(
                f"{who} ({box}): {found['state']} ({reason}), {copies(len(given))},"
                f" {found['resends']} resends, {len(ids)} Message-IDs"
            )


@dataclass(frozen=True, slots=True)
class Chaos:
    """One run."""

    seed: str

    @property
    def name(self) -> str:
        """As people read it."""
        return f"{DEATHS} random deaths, seed {self.seed}"

    def run(self, ground: Ground) -> Row:
        """Let it happen."""
        folder = ground.folder / f"chaos-{self.seed}"
        boxes = {PLAIN: HASTY, RESENDING: f"{HASTY}\n{ON_UNCERTAIN}"}
        seen = account(ground, folder, boxes, self._play)
        return Row(self.name, _EXPECTED, seen, (), str(folder))

    def _play(self, house: House) -> str:
        story = _Story(house, Chance(self.seed))
        for _ in range(DEATHS):
            story.live_and_die()
        story.settle()
        story.count()
        return "; ".join(story.wrong) or _EXPECTED
