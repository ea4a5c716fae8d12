"""Putting a backup in place: restore. What the daemon is made of is imported only when it is needed."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import click

from postroom.cli.backup import STANDARD, telling
from postroom.cli.desk import JSON_OPTION
from postroom.cli.exits import Exit
from postroom.cli.paper import Json, column, data, emit, plain, table, warn
from postroom.cli.serve import CONFIG
from postroom.cli.volume import QUIET_OPTION


_STANDING: Final = (
    column("MAILBOX", "mailbox_id"),
    column("STATE", "state"),
    column("DELIVERIES", "deliveries"),
)
_EVENTS: Final = (column("CONSUMER", "consumer"), column("EVENTS", "events"))


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@CONFIG
@click.option("--replace", is_flag=True, help="Move a store that is there aside; it is kept.")
@JSON_OPTION
@QUIET_OPTION
def restore(file: Path, config: Path, *, replace: bool, is_json: bool) -> int:
    """Put a backup in place while no daemon runs.

    Nothing of it is sent by itself afterwards: what was not at its end is held, and listed here. - reads the standard
    input. Exits 75 while a daemon runs, 65 when the backup is not whole.
    """
    from postroom.config.loading import find_state_dir  # noqa: PLC0415 - see above
    from postroom.ops.host import SystemClock  # noqa: PLC0415
    from postroom.service import restoring  # noqa: PLC0415

    with telling(), _opened(file) as (stream, size_bytes):
        state_dir = find_state_dir(config)
        given = restoring.Backup(stream, size_bytes)
        done = restoring.restore(given, state_dir, SystemClock().now(), replaces=replace)
    answer = {
        "state_dir": str(state_dir),
        "replaced": None if done.replaced is None else str(done.replaced),
        "created_at": done.manifest.origin.created_at,
        "version": done.manifest.origin.version,
        "deliveries": [
            {"mailbox_id": one.mailbox_id, "state": str(one.state), "deliveries": one.deliveries}
            for one in done.copy.deliveries
        ],
        "events": [{"consumer": name, "events": count} for name, count in done.copy.events],
        "missing": [*done.manifest.missing, *done.manifest.damaged],
        "belongs_to_root": done.is_roots,
    }
    if is_json:
        emit(answer)
    else:
        _tell_restored(answer)
    return Exit.OK


@contextmanager
def _opened(file: Path) -> Iterator[tuple[BinaryIO, int | None]]:
    if str(file) == STANDARD:
        yield sys.stdin.buffer, None
        return
    with file.open("rb") as stream:
        yield stream, os.fstat(stream.fileno()).st_size


def _tell_restored(answer: Json) -> None:
    data(plain(f"The backup of {answer['created_at']} is in {answer['state_dir']}."))
    if answer["replaced"]:
        data(plain(f"What was there before is in {answer['replaced']}."))
    if answer["missing"]:
        data(f"Files that mail needs were missing when it was made: {len(answer['missing']):,}.")
    if answer["deliveries"]:
        data("\nThis may have gone out since it was made:")
        table(answer["deliveries"], _STANDING)
        data("Nothing of it goes by itself: after the start it is held (`restored`), or in doubt.")
        data("See it:     postroom held")
        data("Let it go:  postroom release --hold-reason restored --mailbox ID")
        data("Drop it:    postroom cancel --hold-reason restored --mailbox ID")
        data("Doubt:      postroom resolve --state uncertain --as sent|resend|failed")
    if answer["events"]:
        data("\nThis may have been handled since, and will be given out again:")
        table(answer["events"], _EVENTS)
    if answer["belongs_to_root"]:
        warn(
            f"The files belong to root. For the daemon of the unit: chown -R postroom: {plain(answer['state_dir'])}"
        )
