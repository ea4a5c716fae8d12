"""What is in doubt, in a few lines: why, what its mailbox does about it and when, what a person can do."""

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Final

from postroom.cli.desk import Desk
from postroom.cli.paper import Json, data, plain, talk
from postroom.cli.wording import short


_MOST: Final = 100  # the latest, whose reasons are told


def doubt_outlook(explanation: Json) -> str:
    """What its mailbox does about doubt, and when."""
    gate: Json = next(iter(explanation.get("gates", [])), {})
    at = plain(short(gate.get("until_at")))
    return f"on_uncertain is {plain(gate.get('threshold'))}" + (f", at {at}" if at else "")


def tell_doubts(desk: Desk, lanes: Iterable[Json]) -> list[Json]:
    """Say what is in doubt in these lanes; the latest of it, whose reasons are still to be told."""
    counts: Counter[str] = Counter()
    for lane in lanes:
        counts[plain(lane["mailbox_id"])] += lane["depth"].get("uncertain", 0)
    found = [row for box, count in (+counts).items() for row in _tell_box(desk, box, count)]
    if found:
        talk("`postroom explain ID` says of each what becomes of it by itself, and when.")
    return found


def _tell_box(desk: Desk, mailbox_id: str, count: int) -> list[Json]:
    """The latest that are in doubt in a mailbox."""
    rows = desk.client.every(desk.client.deliveries, mailbox_id=mailbox_id, state="uncertain")
    found = list(itertools.islice(rows, _MOST))
    if not found:
        return found
    first = plain(found[0]["id"])
    outlook = doubt_outlook(desk.client.explain(first))
    data("")
    data(f"{mailbox_id}: {count} in doubt, the latest {first}; {outlook}.")
    return found
