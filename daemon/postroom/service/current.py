"""What the running daemon goes by: the settings, as far as they are in force, and the keys of reply addresses."""

from dataclasses import dataclass

from postroom.config.settings import Settings
from postroom.ops.tokenkeys import KeyRing


@dataclass(slots=True)
class Current:
    """Both are replaced together, by a reload; whoever needs them later asks here."""

    settings: Settings
    ring: KeyRing
