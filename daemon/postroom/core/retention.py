"""How long things are kept, as the operator set it up (CONTRACT §8 `[retention]`)."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Retention:
    """Content and history from the end of a job on, by how it ended; events and unused uploads from when they came.

    `answers` is what ties a late answer to its thread, as long as its token would (CONTRACT §8 `tokens.expiry_s`).
    """

    sent: timedelta = timedelta(days=30)
    failed: timedelta = timedelta(days=90)
    events: timedelta = timedelta(days=30)
    staged: timedelta = timedelta(days=1)
    answers: timedelta = timedelta(days=400)
