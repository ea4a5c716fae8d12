"""Starting and preparing the daemon: run, config check, demo.

What the daemon is made of is imported only when it is needed: every other verb starts without it.
"""

from dataclasses import asdict
from pathlib import Path

import click

from postroom.cli.desk import DEFAULT_CONFIG, JSON_OPTION
from postroom.cli.exits import Exit
from postroom.cli.paper import column, data, emit, plain, plain_text, table, warn
from postroom.cli.volume import QUIET_OPTION
from postroom.ports.errors import ConfigError


CONFIG = click.option(
    "--config",
    default=DEFAULT_CONFIG,
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"The settings ({DEFAULT_CONFIG}).",
)


@click.command()
@CONFIG
@click.option(
    "--accept-machine", is_flag=True, help="The store was moved here; its old daemon is gone."
)
@click.option(
    "--accept-file-system", is_flag=True, help="Run on a network file system all the same."
)
@click.option(
    "--accept-lost-keys",
    is_flag=True,
    help="A key of reply addresses is gone for good: mail to them is put off until they expire.",
)
def run(
    config: Path, *, accept_machine: bool, accept_file_system: bool, accept_lost_keys: bool
) -> int:
    """Run the daemon until SIGTERM."""
    from postroom.service.main import run as serve  # noqa: PLC0415 - starts fast, see above

    try:
        return serve(
            config,
            accept_machine=accept_machine,
            accept_file_system=accept_file_system,
            accept_lost_keys=accept_lost_keys,
        )
    except ConfigError as error:
        return tell_config(config, error)


@click.group("config")
def config_group() -> None:
    """Work with the settings."""


@config_group.command("check")
@CONFIG
@JSON_OPTION
@QUIET_OPTION
def config_check(config: Path, *, is_json: bool) -> int:
    """Read the settings and say everything that is wrong with them.

    Exits 78 when there is anything. Says what must stand in DNS for answers to come back. Nobody is asked: a relay is
    tried by `postroom mailboxes check`.
    """
    from postroom.config.dnsrecords import advice, dns_records  # noqa: PLC0415 - see above
    from postroom.config.loading import load  # noqa: PLC0415 - starts fast, see above

    try:
        settings = load(config)
    except ConfigError as error:
        if is_json:
            emit({"ok": False, "problems": [asdict(problem) for problem in error.problems]})
            return Exit.CONFIG
        return tell_config(config, error)
    records, hints = dns_records(settings), advice(settings)
    if is_json:
        emit(
            {
                "ok": True,
                "problems": [],
                "warnings": [asdict(warning) for warning in settings.warnings],
                "dns": [asdict(record) for record in records],
                "advice": hints,
            }
        )
        return Exit.OK
    for warning in settings.warnings:
        warn(plain_text(f"warning: {warning.line}"))
    count = len(settings.mailboxes)
    mailboxes = {0: "no mailbox yet", 1: "1 mailbox"}.get(count, f"{count} mailboxes")
    data(f"{config} is right: {mailboxes}.")
    if records:
        data("\nFor answers to come back, DNS needs:")
        columns = [column("name", "name"), column("type", "type"), column("value", "value")]
        table([asdict(record) for record in records], columns)
        for hint in hints:
            data(f"- {plain(hint)}")
    return Exit.OK


@click.command()
def demo() -> int:
    """Watch it work, on this machine alone.

    A relay that misbehaves, the real daemon and real jobs, in a temporary directory.
    """
    from postroom.cli.demo import play  # noqa: PLC0415 - brings its own SMTP server

    return play()


def tell_config(config: Path, error: ConfigError) -> int:
    warn(f"postroom: {config} can not be used:")
    warn(plain_text(str(error)))
    return Exit.CONFIG
