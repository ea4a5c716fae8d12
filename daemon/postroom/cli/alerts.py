"""Alerts as people read them: what stands, in a table, and what to do about it."""

from typing import Final

from postroom.cli.paper import Column, Json, column, data, plain
from postroom.cli.wording import short


def about(alert: Json) -> str:
    """Whom it speaks of."""
    name, box = plain(alert.get("name")), plain(alert.get("mailbox_id"))
    of = f" of {box}" if box not in {"", name} else ""
    return f"{plain(alert.get('scope'))} {name}{of}".replace("  ", " ").strip()


def tell_to_do(found: list[Json]) -> None:
    """Print what to do about each kind that stands."""
    if found:
        data("")
    for kind, to_do in {plain(one["kind"]): plain(one["to_do"]) for one in found}.items():
        data(f"{kind}: {to_do}")


ALERTS: Final = (
    column("ALERT", "kind"),
    Column("ABOUT", about),
    Column("SINCE", lambda row: short(row.get("since_at"))),
    column("FIGURE", "figure"),
    column("THRESHOLD", "threshold"),
    column("CAUSE", "cause"),
)
