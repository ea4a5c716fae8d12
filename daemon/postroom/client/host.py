"""The client's door to time and chance, so that its waits can be tested without waiting."""

import os
import time
from datetime import UTC, datetime


_KEY_BYTES = 16  # 128 bits: two keys never meet


class Host:
    """The real one."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        """Seconds since an arbitrary moment; never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def mint_key(self) -> str:
        """A new idempotency key."""
        return os.urandom(_KEY_BYTES).hex()
