"""What every verb that talks to a daemon has: --socket, --config, --json, --quiet, --verbose, and the client they come to."""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec

import click

from postroom.cli.volume import QUIET_OPTION, VERBOSE_OPTION, listener
from postroom.client import DEFAULT_SOCKET, Client
from postroom.client.host import Host
from postroom.config.tomlfile import read_toml


P = ParamSpec("P")

# A question is answered at once or in the moment a restart takes; mail is handed over even when that takes longer.
DEFAULT_CONFIG: Final = "/etc/postroom/postroom.toml"
SOCKET_ENV: Final = "POSTROOM_SOCKET"
ASK_S: Final = 3.0
HAND_OVER_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a verb works: the daemon it asks, how it answers, and what time it is.

    `config` is the settings file that was named, or the usual one where no socket was; None = there is none.
    """

    client: Client
    is_json: bool
    host: Host
    config: Path | None


def at_desk(
    *, retry_s: float = ASK_S
) -> Callable[[Callable[Concatenate[Desk, P], int]], Callable[P, int]]:
    """Give a verb its options and its Desk; `retry_s` is how long it puts up with a daemon that is away."""

    def decorate(verb: Callable[Concatenate[Desk, P], int]) -> Callable[P, int]:
        @functools.wraps(verb)
        def run(*args: P.args, **kwargs: P.kwargs) -> int:
            for name in ("is_json", "socket", "config"):
                kwargs.pop(name)
            here = _contexts(click.get_current_context())
            is_json = any(one.params.get("is_json") for one in here)
            host = Host()
            client = Client(_socket(here), retry_s=retry_s, host=host, hear=listener())
            return verb(Desk(client, is_json, host, _config(here)), *args, **kwargs)

        for option in (VERBOSE_OPTION, QUIET_OPTION, JSON_OPTION, *SOCKET_OPTIONS):
            run = option(run)
        return run

    return decorate


def find_socket(context: click.Context) -> str | None:
    """The socket that was named, at the verb or before it; None = the usual one."""
    return _socket(_contexts(context))


JSON_OPTION = click.option(
    "--json", "is_json", is_flag=True, help="One JSON document, for programs."
)
SOCKET_OPTIONS = (
    click.option(
        "--config",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Use the socket that this settings file names.",
    ),
    click.option(
        "--socket",
        type=click.Path(),
        metavar="PATH",
        help="The daemon's socket; else POSTROOM_SOCKET, else /run/postroom/api.sock.",
    ),
)


def _contexts(context: click.Context | None) -> list[click.Context]:
    """The verb's own context, then those above it: an option may stand before or after the verb."""
    return [] if context is None else [context, *_contexts(context.parent)]


def _config(contexts: list[click.Context]) -> Path | None:
    for one in contexts:
        if one.params.get("config"):
            return Path(one.params["config"])
    is_elsewhere = any(one.params.get("socket") for one in contexts) or os.environ.get(SOCKET_ENV)
    usual = Path(DEFAULT_CONFIG)
    return usual if not is_elsewhere and usual.exists() else None


def _socket(contexts: list[click.Context]) -> str | None:
    for one in contexts:
        if one.params.get("socket"):
            return str(one.params["socket"])
        if one.params.get("config"):
            return _socket_in(one.params["config"])
    return None


def _socket_in(config: Path) -> str:
    """The socket that a settings file names, read as the daemon reads it: from the file's folder, with its default."""
    try:
        api: Any = read_toml(config).get("api", {})
        found = config.parent.absolute() / Path(api.get("socket") or DEFAULT_SOCKET)
    except OSError as problem:
        text = f"{config} can not be read: {problem.strerror}."
        raise click.BadParameter(text, param_hint="'--config'") from problem
    except (ValueError, RecursionError) as problem:
        text = f"{config} is not TOML: {problem}."
        raise click.BadParameter(text, param_hint="'--config'") from problem
    except (AttributeError, TypeError) as problem:
        text = f"{config}: api.socket is no path."
        raise click.BadParameter(text, param_hint="'--config'") from problem
    return normpath(found)
