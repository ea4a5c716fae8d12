"""Alerts as people read them: what stands, in a table, with what to do."""

from typing import Final

from postroom.cli.paper import Column, Json, column, data, plain, table
from postroom.cli.wording import short


def alerts_table(found: list[Json]) -> None:
    """Print what stands, and under it what to do about each kind."""
    if not found:
        return
    data("")
    table(found, _ALERTS)
    for kind, to_do in {plain(one["kind"]): plain(one["to_do"]) for one in found}.items():
        data(f"{kind}: {to_do}")


def about(alert: Json) -> str:
    """Whom it speaks of."""
    name, box = plain(alert.get("name")), plain(alert.get("mailbox_id"))
    of = f" of {box}" if box not in {"", name} else ""
    return f"{plain(alert.get('scope'))} {name}{of}".replace("  ", " ").strip()


_ALERTS: Final = (
    column("ALERT", "kind"),
    Column("ABOUT", about),
    Column("SINCE", lambda row: short(row.get("since_at"))),
    column("FIGURE", "figure"),
    column("THRESHOLD", "threshold"),
    column("CAUSE", "cause"),
)
