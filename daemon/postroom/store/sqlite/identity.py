"""What of the rows that everything hangs on can not be read, and what a person does about it, before the store is opened.

Of `instance` its own name and that of its log are nobody's to guess: the one tells this store from its copies, the other
readers of events where they are. Of `mailbox` a row that pauses a mailbox no one knows which: opening would let it send.
Whatever else is damaged there is learned anew, or written anew at this start.
"""

import sqlite3
from pathlib import Path
from typing import Final

from postroom.ports.errors import StateRefused
from postroom.store.sqlite.spoiled import is_damaged, readable


_INSTANCE: Final = "SELECT instance_id, log_id FROM instance"
_PAUSED: Final = "SELECT rowid, id FROM mailbox WHERE paused_at IS NOT NULL"
_RESTORE: Final = "Look after the disk, and restore the last backup; or stay with this store"


def check_readable(conn: sqlite3.Connection, path: Path) -> None:
    """Return when these rows can be read. Raises: StateRefused."""
    with readable(conn):
        instance = conn.execute(_INSTANCE).fetchone()
        paused = conn.execute(_PAUSED).fetchall()
    for column in ("instance_id", "log_id") if instance else ():
        if is_damaged(instance[column]):
            _refuse_instance(path, column)
    for row in paused:
        if is_damaged(row["id"]):
            _refuse_mailbox(path, row["rowid"])


def _refuse_instance(path: Path, column: str) -> None:
    sql = f"UPDATE instance SET {column} = lower(hex(randomblob(16)))"
    what = "readers of events then begin anew" if column == "log_id" else "nothing else needs it"
    message = (
        f"{path} is damaged: {column} in its table instance can not be read. {_RESTORE},"
        f' and give it a new one ({what}): sqlite3 {path} "{sql}"'
    )
    raise StateRefused(message)


def _refuse_mailbox(path: Path, number: int) -> None:
    sql = f"UPDATE mailbox SET id = 'NAME' WHERE rowid = {number}"
    message = (
        f"{path} is damaged: a row of its table mailbox pauses a mailbox whose id can not be read, and opened so it"
        f" would send. {_RESTORE}, and say which mailbox was paused (one that is no longer in the settings will do"
        f' where none should be): sqlite3 {path} "{sql}"'
    )
    raise StateRefused(message)
