"""When a temporary failure is tried again, and when it is given up: capped exponential backoff with jitter.

Ceiling and lifetime end a series, whichever comes first; both count from acceptance or the last redrive.
"""

from datetime import timedelta
from enum import StrEnum
from typing import Final

from postroom.core.instant import Instant, later
from postroom.core.mailbox import RetryPolicy
from postroom.core.outcome import Verdict


class GivenUp(StrEnum):
    """Why there is no next attempt."""

    MAX_ATTEMPTS = "max_attempts"
    LIFETIME = "lifetime"


_DOUBLINGS: Final = 64  # beyond any cap, and no overflow


def next_attempt(
    policy: RetryPolicy,
    series_attempts: int,
    series_started_at: Instant,
    now: Instant,
    jitter: float,
    verdict: Verdict,
) -> Instant | GivenUp:
    """The instant of the next attempt of a series of which `series_attempts` (1 or more) were made.

    `jitter` is chance in [0, 1). A stated delay is obeyed as it is; a usual one is kept up to the policy's cap.
    """
    if series_attempts >= policy.max_attempts:
        return GivenUp.MAX_ATTEMPTS
    wait = _wait(policy, series_attempts, jitter)
    if verdict.delay is not None:
        wait = verdict.delay if verdict.is_stated else max(wait, min(verdict.delay, policy.cap))
    lifetime = (
        policy.lifetime if verdict.patience is None else min(policy.lifetime, verdict.patience)
    )
    due_at = later(now, wait)
    return GivenUp.LIFETIME if due_at > later(series_started_at, lifetime) else due_at


def _wait(policy: RetryPolicy, series_attempts: int, jitter: float) -> timedelta:
    grown = policy.first.total_seconds() * policy.factor ** min(series_attempts - 1, _DOUBLINGS)
    capped = min(grown, policy.cap.total_seconds())
    spread = capped * (1 + policy.jitter * (2 * jitter - 1))
    return timedelta(seconds=min(spread, policy.cap.total_seconds()))
