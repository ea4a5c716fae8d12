"""The gate that holds a row back, asked of loop and explain alike."""

from postroom.core.admit import GO, Finding, Wait, admit, explain
from postroom.core.breaker import Breaker, BreakerState
from postroom.core.reason import ReasonCode
from postroom.core.world import World
from support.decide_world import Waiting, at, moment


OPEN = Breaker(BreakerState.OPEN, ReasonCode.RELAY_UNREACHABLE, probe_at=at(30), probe_s=30)
PLAIN = Waiting()


def blocked_by(row: Waiting, world: World, seconds: float = 0) -> str | None:
    """The gate that holds it back; loop and explain must agree."""
    answer = admit(row, world, moment(seconds))
    findings = [found for found in explain(row, world, moment(seconds)) if not found.is_passed]
    if answer is GO:
        assert findings == []
        return None
    assert isinstance(answer, Wait)
    assert findings[0].gate == answer.gate.name
    assert findings[0].until == answer.blocked.until
    return answer.gate.name


def finding(gate: str, row: Waiting, world: World, seconds: float = 0) -> Finding:
    (found,) = [one for one in explain(row, world, moment(seconds)) if one.gate == gate]
    return found
