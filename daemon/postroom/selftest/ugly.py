"""The ugly paths, row by row: what goes wrong on an ordinary day, what comes of it, and what was seen on the wire."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from postroom.selftest import ugly_in, ugly_out
from postroom.selftest.house import PLAIN, Ground, House, account
from postroom.selftest.row import Row
from postroom.selftest.settings import HASTY


_LONGEST_NAME: Final = 40  # a socket's address has an end


@dataclass(frozen=True, slots=True)
class Ugly:
    """A row: `play` is given a house without a daemon, and says what it saw."""

    name: str
    expected: str
    play: Callable[[House], str]
    boxes: Mapping[str, str] = field(default_factory=lambda: {PLAIN: HASTY})

    def run(self, ground: Ground) -> Row:
        """Try it."""
        folder = ground.folder / re.sub("[^a-z]+", "-", self.name.lower())[:_LONGEST_NAME]
        seen = account(ground, folder, dict(self.boxes), self.play)
        return Row(self.name, self.expected, seen, (), str(folder))


TRIALS: Final = (
    *(
        Ugly(
            f"the relay times out once, at {stage.upper()}",
            "retry_scheduled, then sent at try 2; wire: MAIL 2 times, 1 copy",
            play,
        )
        for stage, play in ugly_out.TIMES_OUT.items()
    ),
    Ugly(
        "the relay keeps failing",
        "failed, expired at try 3, a dead letter; wire: RCPT 3 times, 0 copies",
        ugly_out.keeps_failing,
        {PLAIN: "retry = { first_s = 1, jitter = 0, cap_s = 1, max_attempts = 3 }"},
    ),
    Ugly(
        "the relay accepts, and its id is stored",
        "sent at try 1, known to the relay as 4ABCdef; wire: 1 copy",
        ugly_out.is_accepted,
    ),
    Ugly(
        "a malformed payload",
        "refused at /nonsense, /subject, /to/0, no job; wire: not dialled",
        ugly_out.makes_no_sense,
    ),
    Ugly(
        "a message that the relay will not have",
        "failed at try 1, message.refused; wire: MAIL 1 time, 0 copies",
        ugly_out.is_refused,
    ),
    Ugly(
        "the same job twice, at once and after a restart",
        "1 accepted and 9 told of it, the same job after kill -9; wire: 1 copy",
        ugly_out.comes_twice,
    ),
    Ugly(
        "an attachment that is missing",
        "refused at /attachments/0/path; pinned and gone: failed, attachment_missing; wire: not dialled",
        ugly_out.lacks_its_file,
    ),
    Ugly(
        "a forged reply token",
        "forged: 550 5.1.1, no event; genuine: 1 answer, token valid",
        ugly_in.forges_a_token,
    ),
    Ugly(
        "a signed body that was tampered with",
        "tampered: dkim fail, not accepted, wakes nobody; intact: dkim pass, accepted, wakes an agent",
        ugly_in.tampers_with_a_body,
        ugly_in.SIGNED_BOXES,
    ),
    Ugly(
        "a poison job",
        "failed, poison, a dead letter; others: 4 of 4 sent; wire: 0 copies",
        ugly_out.kills_its_daemon,
    ),
    Ugly(
        "a restart in the middle of sending",
        "kill -9 at the dot: uncertain, 1 copy; SIGTERM at the dot: waited for, sent, 1 copy",
        ugly_out.is_restarted,
    ),
    Ugly(
        "a relay that is gone after the dot",
        "uncertain, a dead letter, still so after kill -9; wire: 1 copy",
        ugly_out.leaves_doubt,
    ),
    Ugly(
        "a reply is verified and queued",
        "reply.received by reply_token, valid, leased, answered; wire: 1 answer in its thread",
        ugly_in.is_answered,
    ),
    Ugly(
        "a burst over the limit",
        "20 sent at try 1, paced; wire: 20 copies",
        ugly_out.comes_in_a_burst,
        {PLAIN: f"{HASTY}\npace = {{ per_second = 5, burst = 5 }}"},
    ),
)
