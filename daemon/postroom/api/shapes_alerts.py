"""Alerts as they are answered: in an event, and among the figures of the daemon."""

from msgspec import UNSET, UnsetType

from postroom.api.answered import Answered
from postroom.api.requests import EventId, Moment
from postroom.core.alert import AlertKind, AlertScope, Cause


class EventAlert(Answered, frozen=True):
    """What is the matter (docs/operating.md, alerts). `name` is an id, a domain, a trace id, a priority; '' = the daemon.

    `raised_at` and `raised_by`, the id of its `alert.raised`, stand in `alert.cleared`.
    """

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
    raised_at: Moment | UnsetType = UNSET
    raised_by: EventId | UnsetType = UNSET


class StandingAlert(Answered, frozen=True):
    """An alert that is raised now; `mailbox_id` null = it concerns several mailboxes, or all."""

    kind: AlertKind
    scope: AlertScope
    name: str
    mailbox_id: str | None
    since_at: Moment
    raised_at: Moment
    figure: float
    threshold: float
    cause: Cause
    means: str
    likely: str
    to_do: str
    event_id: EventId
