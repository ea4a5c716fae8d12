"""All targets by name."""

from collections.abc import Callable

from fuzz import asked, built, relay
from fuzz.targets import TARGETS as INWARD


TARGETS: dict[str, Callable[[bytes], None]] = {
    **INWARD,
    **{
        one.__name__: one
        for one in (
            relay.replies,
            relay.greeting,
            relay.transaction,
            built.job,
            asked.asked,
            asked.request,
        )
    },
}
