"""May this delivery go now? The same gates answer for the loop (`admit`) and for people (`explain`)."""

from dataclasses import dataclass
from typing import Final

from postroom.core.gates import GATES, Blocked, Gate, Passed, Unit, Value
from postroom.core.instant import Instant, Moment, format_instant
from postroom.core.world import Row, World


@dataclass(frozen=True, slots=True)
class Go:
    """All gates let it through."""


@dataclass(frozen=True, slots=True)
class Wait:
    """This gate holds it back."""

    gate: Gate
    blocked: Blocked


@dataclass(frozen=True, slots=True)
class Finding:
    """One gate as people see it; instants are written out."""

    gate: str
    is_passed: bool
    value: Value
    threshold: Value
    until: Instant | None


GO: Final = Go()


def admit(row: Row, world: World, now: Moment) -> Go | Wait:
    """Go, or the first gate that holds the delivery back."""
    for gate in GATES:
        answer = gate.check(row, world, now)
        if type(answer) is Blocked:
            return Wait(gate, answer)
    return GO


def find_block(row: Row, world: World, now: Moment) -> Finding | None:
    """What holds the delivery back, as people see it; None = it may go."""
    answer = admit(row, world, now)
    return None if isinstance(answer, Go) else _finding(answer.gate, answer.blocked)


def explain(row: Row, world: World, now: Moment) -> tuple[Finding, ...]:
    """What every gate says, in order."""
    return tuple(_finding(gate, gate.check(row, world, now)) for gate in GATES)


def _finding(gate: Gate, answer: Passed | Blocked) -> Finding:
    return Finding(
        gate=gate.name,
        is_passed=isinstance(answer, Passed),
        value=_shown(gate.unit, answer.value),
        threshold=_shown(gate.unit, answer.threshold),
        until=answer.until if isinstance(answer, Blocked) else None,
    )


def _shown(unit: Unit, value: Value) -> Value:
    if unit is Unit.INSTANT and isinstance(value, int):
        return format_instant(Instant(value))
    return value
