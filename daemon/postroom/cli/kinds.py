"""What an id names, by its beginning: whoever gives one to the wrong verb is told the right one."""

from typing import Final

import click


_VERBS: Final = {
    "job_": ("a job", "show"),
    "dlv_": ("a delivery", "show"),
    "evt_": ("an event", "show"),
    "thr_": ("a conversation", "thread"),
}


def refuse_other(name: str, *kinds: str) -> None:
    """Raises click.UsageError for the id of something else than these kinds; what is no id at all is left to the daemon."""
    beginning = name[:4]
    if beginning in _VERBS and beginning not in kinds:
        what, verb = _VERBS[beginning]
        problem = f"{name} is {what}: see `postroom {verb} {name}`."
        raise click.UsageError(problem)
