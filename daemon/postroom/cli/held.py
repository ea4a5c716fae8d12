"""What waits for a person or for its mailbox."""

from typing import Final

import click

from postroom.cli import moments
from postroom.cli.act import HOLD_REASON
from postroom.cli.desk import Desk, at_desk
from postroom.cli.exits import Exit
from postroom.cli.jobs import LIMIT, listing
from postroom.cli.meanings import HOLDS
from postroom.cli.paper import Column, Json, column, data, emit, plain, table, talk


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
        known = HOLDS.get(reason)
        told = f"{one['mailbox_id']}: {one['deliveries']} held ({reason})"
        data(plain(f"{told}: {known.because}. {known.to_do}" if known is not None else told))
