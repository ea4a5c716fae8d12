"""What every answer is made of."""

from msgspec import Struct


class Answered(Struct, frozen=True, kw_only=True):
    """An answer that says nothing."""
