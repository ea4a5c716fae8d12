"""What waits, as `mailq` and `-bp` list it."""

import sys
from typing import Final

from postroom.cli.sendmail.unfit import harmless
from postroom.client import UNSETTLED, Client


_EMPTY: Final = "Mail queue is empty\n"  # the words that who watches a mailq looks for


def print_queue(client: Client) -> None:
    """Print every delivery that has not come to its end, and how many there are."""
    count = 0
    for state in sorted(UNSETTLED):
        for one in client.every(client.deliveries, state=state):
            told = (one["id"], state, one["mailbox_id"], one["recipient"], one["reason_code"] or "")
            sys.stdout.write(harmless("  ".join(told)).rstrip() + "\n")
            count += 1
    sys.stdout.write(f"-- {count} deliveries wait.\n" if count else _EMPTY)
