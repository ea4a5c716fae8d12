"""Which alerts stand: raised when they last, cleared when they stay away, and a restart changes neither."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.alert import Alert, AlertKey, AlertKind, AlertScope, Cause, Raised
from postroom.core.alertrules import RULES, cause_of
from postroom.core.alertstate import AlertState
from postroom.core.instant import MINUTE, Instant, Moment
from postroom.core.reason import ReasonCode
from postroom.core.trend import Finding


K = AlertKind
KEYS = {kind: AlertKey(kind, AlertScope.DAEMON, "") for kind in K}


@dataclass
class Run:
    """A state that is moved on minute by minute."""

    kind: AlertKind = K.RELAY_DOWN
    state: AlertState = field(default_factory=lambda: AlertState(0))
    minute: int = 0
    seq: int = 0
    log: list[tuple[int, str]] = field(default_factory=list)

    def pass_(self, held: Sequence[bool], *, is_stored: bool = True) -> "Run":
        for one in held:
            finding = Finding(KEYS[self.kind], 7, 3, Cause.LOAD)
            now = Moment(Instant(self.minute * MINUTE), self.minute * MINUTE)
            moves = self.state.step([finding] if one else [], now)
            if is_stored:
                raised = [self._store(alert) for alert in moves.raised]
                self.state.commit(raised, moves.cleared)
                self.log += [(self.minute, "raised") for _ in raised]
                self.log += [(self.minute, "cleared") for _ in moves.cleared]
            self.minute += 1
        return self

    def _store(self, alert: Alert) -> Raised:
        self.seq += 1
        return Raised(alert, Instant(self.minute * MINUTE), self.seq)


HELD = [True]
AWAY = [False]


@pytest.mark.parametrize("kind", K)
def test_every_kind_is_raised_once_it_has_lasted_and_cleared_once_it_has_stayed_away(
    kind: AlertKind,
) -> None:
    rule = RULES[kind]
    first, last = (int(one.total_seconds() // 60) for one in (rule.raise_after, rule.clear_after))
    window = int(rule.window.total_seconds() // 60)
    lasts = max(first, window) + 5
    run = Run(kind).pass_(HELD * lasts).pass_(AWAY * (last + 5))
    assert run.log == [(first, "raised"), (lasts + last, "cleared")]


def test_what_lasts_counts_from_when_it_began() -> None:
    run = Run().pass_(AWAY * 3).pass_(HELD * 6)
    (standing,) = run.state.standing.values()
    assert (standing.alert.since, standing.raised_at) == (3 * MINUTE, 8 * MINUTE)
    assert (standing.alert.figure, standing.alert.threshold) == (7, 3)


STUTTERS = {
    "never long enough": ((HELD * 5 + AWAY) * 4, []),
    "away for moments only": (HELD * 6 + (AWAY * 4 + HELD) * 5, [(5, "raised")]),
    "gone, and back": (
        HELD * 6 + AWAY * 6 + HELD * 6,
        [(5, "raised"), (11, "cleared"), (17, "raised")],
    ),
}


@pytest.mark.parametrize(("held", "log"), STUTTERS.values(), ids=STUTTERS)
def test_what_comes_and_goes(held: list[bool], log: list[tuple[int, str]]) -> None:
    assert Run().pass_(held).log == log


def test_what_the_store_did_not_take_is_tried_again_the_next_minute() -> None:
    run = Run().pass_(HELD * 8, is_stored=False).pass_(HELD)
    assert run.log == [(8, "raised")]
    run.pass_(AWAY * 8, is_stored=False).pass_(AWAY)
    assert run.log == [(8, "raised"), (17, "cleared")]


@pytest.mark.parametrize(("held", "log"), [(HELD, []), (AWAY, [(45, "cleared")])])
def test_what_stands_at_a_start_is_cleared_no_sooner_than_it_can_be_judged(
    held: list[bool], log: list[tuple[int, str]]
) -> None:
    key = KEYS[K.RETRIES_GROWING]
    state = AlertState(0)
    state.restore([Raised(Alert(key, Instant(0), 40, 20, Cause.LOAD), Instant(0), 1)])
    assert Run(K.RETRIES_GROWING, state).pass_(held * 60).log == log


@given(st.lists(st.booleans(), max_size=80), st.sampled_from(sorted(K)))
def test_nothing_is_raised_twice_or_cleared_unraised_whatever_comes(
    held: list[bool], kind: AlertKind
) -> None:
    how = [one for _, one in Run(kind).pass_(held).log]
    assert how == (["raised", "cleared"] * len(how))[: len(how)]


def test_the_signs_of_a_cause_are_told_by_the_reasons() -> None:
    assert cause_of(ReasonCode.RATE_LIMITED) is Cause.THROTTLED
    assert cause_of(ReasonCode.ATTACHMENT_MISSING) is Cause.MALFORMED_JOBS
    assert cause_of(ReasonCode.POISON) is cause_of(None) is Cause.UNCLEAR
