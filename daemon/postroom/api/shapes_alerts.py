"""Alerts as they are answered: in an event, and among the figures of the daemon."""

from msgspec import UNSET, UnsetType

from postroom.api.answered import Answered
from postroom.api.requests import EventId, Moment
from postroom.core.alert import AlertKind, AlertScope, Cause


class AlertMatter(Answered, frozen=True):
    """What is the matter (docs/operating.md, alerts). `name` is an id, a domain, a trace id, a priority; '' = the daemon."""

    kind: AlertKind
    scope: AlertScope
    name: str
    since_at: Moment
    figure: float
    threshold: float
    cause: Cause
    means: str
    likely: str
    to_do: str


class EventAlert(AlertMatter, frozen=True):
    """The same in an event; `raised_at` and `raised_by`, the id of its `alert.raised`, stand in `alert.cleared`."""

    raised_at: Moment | UnsetType = UNSET
    raised_by: EventId | UnsetType = UNSET


class StandingAlert(AlertMatter, frozen=True):
    """An alert that is raised now; `mailbox_id` null = it concerns several mailboxes, or all."""

    mailbox_id: str | None
    raised_at: Moment
    event_id: EventId
