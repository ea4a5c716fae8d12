"""`postroom completion`: scripts with which a shell completes verbs, options and their values.

A script is made of the command line itself and holds all of it, so that a TAB starts no program; only ids of mailboxes
are asked for, of a daemon that has a second to answer.
"""

import re
from typing import Final

import click

from postroom.cli.desk import find_socket
from postroom.cli.paper import data
from postroom.cli.shells import SHELLS
from postroom.cli.wordtree import spots
from postroom.client import Client
from postroom.client.errors import PostroomError


_MAILBOXES: Final = "mailboxes"
_PATIENCE_S: Final = 1.0
_SAFE: Final = re.compile(r"[\w.@-]+")


@click.command()
@click.argument("shell", type=click.Choice([*SHELLS, _MAILBOXES]))
@click.pass_context
def completion(context: click.Context, /, shell: str) -> None:
    """Print the script that lets a shell complete what you type.

    For bash: eval "$(postroom completion bash)" in ~/.bashrc, or its output as a file
    /usr/share/bash-completion/completions/postroom. For zsh: as a file _postroom in a folder of fpath. For fish: as
    ~/.config/fish/completions/postroom.fish. The word mailboxes prints what these scripts offer for --mailbox.
    """
    if shell == _MAILBOXES:
        _print_mailboxes(find_socket(context))
        return
    root = context.find_root().command
    if isinstance(root, click.Group):
        data(SHELLS[shell](tuple(spots(root))))


def _print_mailboxes(socket: str | None) -> None:
    try:
        found = Client(socket, timeout_s=_PATIENCE_S, retry_s=0).mailboxes()["items"]
    except PostroomError:
        return  # whoever presses TAB wants no talk
    for one in found:
        if _SAFE.fullmatch(str(one["id"])):
            data(one["id"])
