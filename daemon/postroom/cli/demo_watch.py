"""What the demo shows live: every step of every recipient, as the API tells it, in words."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from postroom.cli.demo_stage import Stage
from postroom.cli.jobs import reply
from postroom.cli.paper import Json, data, paint, plain
from postroom.client import UNSETTLED


_POLL_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Promise:
    """One thing that has to be true in the end."""

    text: str
    is_kept: bool


@dataclass
class Watch:
    """Follows deliveries and prints each step once."""

    stage: Stage
    started_at: datetime
    shown: dict[str, int] = field(default_factory=dict)

    def until_settled(self, delivery_ids: list[str], until_s: float) -> bool:
        """Print what happens until all of them are settled; False when the time was over before."""
        waiting = list(delivery_ids)
        while waiting and self.stage.host.monotonic_s() < until_s:
            self.stage.check_daemon()
            found = [self.stage.client.delivery(one) for one in waiting]
            self._show(found)
            waiting = [one["id"] for one in found if one["state"] in UNSETTLED]
            if waiting:
                self.stage.host.sleep(_POLL_S)
        return not waiting

    def say(self, line: str) -> None:
        """Print a line of our own, with the time."""
        now = self.stage.host.now()
        data(f"{self._stamp(now)}  {line}")

    def _show(self, deliveries: list[Json]) -> None:
        steps: list[tuple[datetime, str]] = []
        for one in deliveries:
            history: list[Json] = one["history"]
            for number in range(self.shown.get(one["id"], 0), len(history)):
                at = datetime.fromisoformat(history[number]["at"])
                is_last = number == len(history) - 1
                text = _words(one, history[number], is_last=is_last)
                steps += [(at, text)] if text else []
            self.shown[one["id"]] = len(history)
        for at, text in sorted(steps):
            data(f"{self._stamp(at)}  {text}")

    def _stamp(self, at: datetime) -> str:
        return f"{max(0.0, (at - self.started_at).total_seconds()):6.2f} s"


def _words(delivery: Json, step: Json, *, is_last: bool) -> str:
    """One step as a line; empty for those that say nothing to a person."""
    state = plain(step["to"])
    said = reply(step) or plain(step["reason_code"])
    match state:
        case "sent":
            tries = delivery["attempts"] if is_last else step["attempt"]
            detail = f"at try {plain(tries)}: {said}"
        case "failed":
            detail = f"refused for good, never tried again: {said}"
        case "retry_scheduled":
            detail = f"{said}{_next_try(delivery, step) if is_last else ''}"
        case "uncertain" | "held" | "cancelled" | "skipped":
            detail = said
        case _:
            return ""
    word = paint(state) + " " * (len("retry_scheduled") - len(state))
    return f"{plain(delivery['recipient']):<24} {word}  {detail}"


def _next_try(delivery: Json, step: Json) -> str:
    if not delivery.get("next_attempt_at"):
        return ""
    next_at = datetime.fromisoformat(delivery["next_attempt_at"])
    wait_s = (next_at - datetime.fromisoformat(step["at"])).total_seconds()
    return f"; tried again {'in ' + format(wait_s, '.1f') + ' s' if wait_s > 0 else 'at once'}"
