"""The picture of the state table, as docs/internals.md has it between its markers."""

from collections.abc import Collection, Mapping

from postroom.core.delivery import DeliveryState


def draw(transitions: Mapping[DeliveryState, Collection[DeliveryState]]) -> str:
    """A table: each state, and a mark below every state that it may become."""
    states = list(DeliveryState)
    head = f"| from \\ to | {' | '.join(states)} |"
    rows = (
        f"| **{before}** | {' | '.join('●' if after in transitions[before] else ' ' for after in states)} |"
        for before in states
    )
    return "\n".join((head, "|---" * (len(states) + 1) + "|", *rows))
