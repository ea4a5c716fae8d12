"""Whether the mailbox that was named is there: nothing of a mailbox that nobody knows is no "nothing"."""

from postroom.cli.desk import Desk
from postroom.cli.exits import Ended, Exit


def no_mailbox(named: str) -> Ended:
    """What to raise where there is none; `named` is how it was asked for."""
    return Ended(
        f"there is no {named}",
        exit_code=Exit.NO_MAILBOX,
        code="unknown_mailbox",
        fix="`postroom mailboxes` lists mailboxes and their relays.",
    )


def refuse_unknown(desk: Desk, *mailbox_ids: str | None) -> None:
    """For who found nothing: raises Ended where one of these is no mailbox."""
    asked = [one for one in mailbox_ids if one is not None]
    known = {one["id"] for one in desk.client.mailboxes()["items"]} if asked else set()
    for one in asked:
        if one not in known:
            named = f"mailbox '{one}'"
            raise no_mailbox(named)
