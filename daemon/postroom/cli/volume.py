"""How much a verb says beside its data: --quiet leaves what is wrong, --verbose adds every request to the daemon.

Both may stand before or after the verb, and are kept where click keeps what belongs to the whole command line.
"""

from collections.abc import Callable
from typing import Final

import click

from postroom.cli.paper import QUIET, plain, warn
from postroom.client.wire import Tried


_VERBOSE: Final = "postroom.is_verbose"


def _remember(context: click.Context, option: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click calls it so
    if value:
        context.meta[QUIET if option.name == "quiet" else _VERBOSE] = True
    if {QUIET, _VERBOSE} <= context.meta.keys():
        problem = "Give --quiet or --verbose, not both."
        raise click.UsageError(problem, context)


QUIET_OPTION: Final = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_remember,
    help="Say nothing but data and what is wrong.",
)
VERBOSE_OPTION: Final = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_remember,
    help="Say every request to the daemon, its answer, and how long that took.",
)


def listener() -> Callable[[Tried], None] | None:
    """Who hears of every request of the command line that is being run: nobody, or stderr."""
    return _tell if _VERBOSE in click.get_current_context().meta else None


def _tell(tried: Tried) -> None:
    came_to = tried.fault if tried.status is None else tried.status
    warn(plain(f"{tried.method} {tried.path}: {came_to}, {tried.took_s * 1000:.0f} ms"))
