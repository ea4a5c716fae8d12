"""What waits for a person or for its mailbox."""

from typing import Final

import click

from postroom.cli import moments
from postroom.cli.act import HOLD_REASON
from postroom.cli.desk import Desk, at_desk
from postroom.cli.exits import Exit
from postroom.cli.jobs import LIMIT, listing
from postroom.cli.paper import Column, Json, column, data, emit, plain, table, talk
from postroom.core.delivery import HoldReason


# What holds mail, and what can be done about it. docs/operating.md is held against it by a test.
HOLDS: Final = {
    HoldReason.RESTORED: "may have gone before the restore: `postroom release`, or `postroom cancel`",
    HoldReason.MAILBOX_REMOVED: "its mailbox is not in the settings: bring it back, or `postroom cancel`",
    HoldReason.UNREADABLE: "its row can not be read: `postroom release` tries again, or `postroom cancel`",
    HoldReason.LOOP: "machines answer each other in its thread: `postroom thread ID --resume`",
    HoldReason.OPERATOR: "a person holds it: `postroom release`, or `postroom cancel`",
}
_HELD: Final = (
    column("DELIVERY", "id"),
    column("MAILBOX", "mailbox_id"),
    column("RECIPIENT", "recipient"),
    column("WHY", "hold_reason"),
    Column("JOB", lambda row: row.get("job_id")),
    column("TRIES", "attempts"),
)


@click.command()
@click.option("--mailbox", "mailbox_id", metavar="ID", help="Those of this mailbox only.")
@HOLD_REASON
@click.option(
    "--since", metavar="TIME", help="From jobs accepted since then: 24h, 7d, or an instant."
)
@LIMIT
@at_desk()
def held(
    desk: Desk, mailbox_id: str | None, hold_reason: str | None, since: str | None, limit: int
) -> int:
    """List deliveries that wait for a person or for their mailbox."""
    since = moments.ago("--since", since, desk.host.now())
    filters = {"mailbox_id": mailbox_id, "since": since}
    filters |= {"hold_reason": hold_reason} if hold_reason else {"state": "held"}
    found = listing(desk, desk.client.deliveries, filters, limit)
    if desk.is_json:
        emit({"items": found, "holds": desk.client.holds()["items"]})
    elif found:
        table(found, _HELD)
        tell_holds(desk.client.holds()["items"])
    else:
        talk("Nothing is held.")
    return Exit.OK


def tell_holds(holds: list[Json]) -> None:
    """Say how much is held for what, and what can be done about it."""
    for one in holds:
        reason = plain(one["hold_reason"])
        known = {str(each): says for each, says in HOLDS.items()}
        told = f"{one['mailbox_id']}: {one['deliveries']} held ({reason})"
        data(plain(f"{told}: {known[reason]}" if reason in known else told))
