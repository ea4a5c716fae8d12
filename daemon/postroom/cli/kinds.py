"""What an id names, by its beginning: whoever gives one to the wrong verb is told the right one."""

from typing import Final

import click

from postroom.cli.paper import plain


_VERBS: Final = {
    "job_": ("a job", "show"),
    "dlv_": ("a delivery", "show"),
    "evt_": ("an event", "show"),
    "thr_": ("a conversation", "thread"),
}


def refuse_other(name: str, *kinds: str) -> None:
    """Raises click.UsageError for the id of something else than these kinds, and for what is no id at all."""
    beginning = name[:4]
    if beginning in _VERBS and beginning not in kinds:
        what, verb = _VERBS[beginning]
        problem = f"{name} is {what}: see `postroom {verb} {name}`."
        raise click.UsageError(problem)
    if beginning not in _VERBS:
        problem = f"'{plain(name)}' is no id: this takes what begins with {' or '.join(kinds)}."
        raise click.UsageError(problem)
