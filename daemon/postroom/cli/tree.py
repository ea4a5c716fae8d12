"""The verbs of `postroom`: what a person types. Each speaks only the contract, through the client."""

import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Final

import click

from postroom import __version__
from postroom.cli import (
    act,
    admin,
    backup,
    completion,
    doctor,
    events,
    explain,
    held,
    jobs,
    reload,
    restore,
    selftest,
    send,
    serve,
    top,
    watch,
)
from postroom.cli.desk import SOCKET_OPTIONS
from postroom.cli.exits import MEANINGS, Exit, exit_for
from postroom.cli.paper import plain, warn
from postroom.cli.patience import heed_signals
from postroom.cli.refusals import document, tell, words
from postroom.cli.streams import open_closed_input, open_closed_output, silence
from postroom.cli.volume import QUIET_OPTION, VERBOSE_OPTION
from postroom.client.errors import PostroomError


_VERBS: Final = (
    serve.run,
    serve.demo,
    send.send,
    watch.status,
    jobs.jobs,
    jobs.show,
    act.cancel,
    act.release,
    act.retry,
    act.resolve,
    explain.explain,
    held.held,
    jobs.dead_letters,
    events.events,
    events.thread,
    admin.mailboxes,
    admin.suppressions,
    watch.stats,
    top.top,
    serve.config_group,
    reload.reload,
    backup.backup,
    restore.restore,
    doctor.doctor,
    selftest.selftest,
    completion.completion,
)
_SIGPIPE: Final = 128 + 13


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\n".join(
        ("\b", "Exit codes:", *(f"{code:5}  {says}" for code, says in MEANINGS.items()))
    ),
)
@click.version_option(__version__, message="postroom %(version)s")
@click.pass_context
def root(context: click.Context, /, **_options: object) -> None:
    """Email for agents and local programs that behaves like infrastructure."""
    if context.invoked_subcommand != serve.run.name:  # the daemon hears them once it is there
        heed_signals()


for _verb in _VERBS:
    root.add_command(_verb)
for _option in (VERBOSE_OPTION, QUIET_OPTION, *SOCKET_OPTIONS):
    _option(root)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; its exit code."""
    open_closed_output()
    open_closed_input()
    colour = False if os.environ.get("NO_COLOR") else None
    try:
        code = root.main(argv, prog_name="postroom", standalone_mode=False, color=colour)
        sys.stdout.flush()
    except (PostroomError, click.ClickException, click.Abort, OSError) as error:
        return _fail(error, is_json="--json" in (sys.argv[1:] if argv is None else argv))
    except SystemExit:  # click's answer to a reader who has seen enough of our output
        return _SIGPIPE
    except Exception:  # noqa: BLE001 - the last door: whatever comes here is ours to mend
        traceback.print_exc()
        warn("postroom: this is a bug in postroom; please report it with the lines above.")
        return Exit.BUG
    return code if isinstance(code, int) else Exit.OK


def _fail(error: Exception, *, is_json: bool) -> int:
    if isinstance(error, BrokenPipeError):
        silence(sys.stdout)  # whoever read our output has seen enough
        return _SIGPIPE
    if is_json:
        warn(json.dumps(document(error), indent=2))
    elif isinstance(error, PostroomError):
        tell(error)
    elif isinstance(error, click.ClickException):
        error.show()
    elif isinstance(error, click.Abort):
        warn("Interrupted.")
    else:
        warn(f"postroom: {plain(words(error))}")
    return _code(error)


def _code(error: Exception) -> int:
    match error:
        case PostroomError():
            return exit_for(error)
        case click.FileError() | FileNotFoundError():
            return Exit.NO_INPUT
        case click.ClickException():
            return Exit.USAGE
        case click.Abort():
            return Exit.INTERRUPTED
        case _:
            return Exit.IO
