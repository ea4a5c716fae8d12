"""Which keys issued tokens (CONTRACT §8): their fingerprints, never the keys."""

import sqlite3
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from postroom.core.instant import Instant, micros
from postroom.core.token import Key
from postroom.store.sqlite.unit import UnitResult


_NOTE: Final = """
    INSERT INTO token_key (fingerprint, key_id, first_used_at, last_issued_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (fingerprint) DO UPDATE SET last_issued_at = max(last_issued_at, excluded.last_issued_at)"""
_VALID: Final = """
    SELECT fingerprint FROM token_key WHERE last_issued_at >= ? ORDER BY last_issued_at DESC"""
_HAS_ANY: Final = "SELECT EXISTS (SELECT 1 FROM token_key)"


@dataclass(frozen=True, slots=True)
class RememberingKeys:
    """A unit that notes the first of these keys as the one that issues tokens."""

    keys: tuple[Key, ...]
    at: Instant
    validity: timedelta

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[tuple[str, ...]]:
        """The fingerprints of keys that issued tokens which may still be valid and are not among these."""
        if self.keys:
            issuer = self.keys[0]
            conn.execute(_NOTE, (issuer.fingerprint, issuer.id, self.at, self.at))
        known = {key.fingerprint for key in self.keys}
        found = conn.execute(_VALID, (self.at - micros(self.validity),))
        return UnitResult(tuple([one for (one,) in found if one not in known]))


def has_issued(conn: sqlite3.Connection) -> bool:
    """Whether any key ever issued tokens in this store."""
    return bool(conn.execute(_HAS_ANY).fetchone()[0])
