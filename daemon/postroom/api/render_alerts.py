"""Alerts that stand, in the shapes of the contract."""

from postroom.api.shapes_alerts import StandingAlert
from postroom.core.alert import CAUSES, MEANINGS, Raised
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import format_instant


def render_alert(one: Raised) -> StandingAlert:
    """An alert that is raised."""
    alert, meaning = one.alert, MEANINGS[one.alert.key.kind]
    return StandingAlert(
        kind=alert.key.kind,
        scope=alert.key.scope,
        name=alert.key.name,
        mailbox_id=alert.key.mailbox_id,
        since_at=format_instant(alert.since),
        raised_at=format_instant(one.raised_at),
        figure=alert.figure,
        threshold=alert.threshold,
        cause=alert.cause,
        means=meaning.means,
        likely=CAUSES[alert.cause],
        to_do=meaning.to_do,
        event_id=encode_id(Kind.EVENT, one.seq),
    )
