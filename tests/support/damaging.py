"""Damage to rows of a store that is open: a unit that does it."""

import sqlite3
from collections.abc import Callable

from postroom.store.sqlite.unit import UnitResult


def damage(*statements: str) -> Callable[[sqlite3.Connection], UnitResult[None]]:
    """Do these, one after another."""

    def unit(conn: sqlite3.Connection) -> UnitResult[None]:
        for sql in statements:
            conn.execute(sql)
        return UnitResult(None)

    return unit
