"""What came in, in numbers: each counted once, by names that come from closed lists."""

from collections.abc import Callable

import pytest
from prometheus_client.parser import text_string_to_metric_families

from postroom.core.bouncereason import BounceClass, BounceReason, Sense
from postroom.core.inmail import Parse, ReportedRecipient
from postroom.core.matching import MatchedBy
from postroom.ops.inwardsignals import InwardSignals
from postroom.ops.metrics import Picture, families, text_of
from postroom.ops.signals import Signals
from postroom.ports.arriving import Doubled, Publication, Published
from postroom.ports.changes import (
    EventPublished,
    EventsDied,
    JobChanged,
    LeaseExpired,
    MailDone,
    MailReceived,
)
from support.arrivals import in_mail, publication_of, report_mail
from support.figures import stats_at
from support.ops_deliveries import NOW


EVENT = Published(7, 1, "delivery.bounced", MatchedBy.NONE)


def sensed(class_: BounceClass, reason: BounceReason) -> ReportedRecipient:
    return ReportedRecipient(None, None, None, None, None, sense=Sense(class_, reason))


def report(*blocks: ReportedRecipient) -> Publication:
    return publication_of(report_mail(*blocks))


CASES: dict[str, tuple[Callable[[InwardSignals], object], dict[str, float]]] = {
    "mails that come in": (
        lambda seen: seen.committed([MailReceived(1), MailReceived(2), MailDone(1)]),
        {"mails_received_total{}": 2},
    ),
    "events": (
        lambda seen: seen.committed(
            [EventPublished(n, "support", 1, "reply.received", ()) for n in range(3)]
        ),
        {"events_total{mailbox=support,type=reply.received}": 3},
    ),
    "an expired lease and what it killed": (
        lambda seen: seen.committed(
            [LeaseExpired("agent", "support", 1, 5), EventsDied("agent", "support", 1, (6, 7))]
        ),
        {
            "lease_expiries_total{mailbox=support}": 1,
            "events_dead_total{mailbox=support}": 2,
        },
    ),
    "a refusal": (
        lambda seen: seen.refused("unknown"),
        {"listener_refusals_total{reason=unknown}": 1},
    ),
    "a mail that could be read": (
        lambda seen: seen.published(publication_of(in_mail()), EVENT),
        {"mails_read_total{mailbox=support,parse=complete}": 1},
    ),
    "a mail that could not be read": (
        lambda seen: seen.published(publication_of(in_mail(parse=Parse.FAILED)), EVENT),
        {"mails_read_total{mailbox=support,parse=failed}": 1},
    ),
    "a mail that came again": (
        lambda seen: seen.published(report(), Doubled(7)),
        {"mails_doubled_total{mailbox=support}": 1},
    ),
    "a report": (
        lambda seen: seen.published(
            report(
                sensed(BounceClass.PERMANENT, BounceReason.RECIPIENT_UNKNOWN),
                sensed(BounceClass.PERMANENT, BounceReason.RECIPIENT_UNKNOWN),
                sensed(BounceClass.NONE, BounceReason.DELIVERED),
            ),
            EVENT,
        ),
        {
            "bounces_total{class=permanent,mailbox=support,reason=recipient.unknown}": 2,
            "mails_read_total{mailbox=support,parse=complete}": 1,
        },
    ),
    "what is of no interest": (lambda seen: seen.committed([JobChanged(1)]), {}),
}


@pytest.mark.parametrize(("happens", "told"), CASES.values(), ids=CASES.keys())
def test_prometheus_reads(
    happens: Callable[[InwardSignals], object], told: dict[str, float]
) -> None:
    inward = InwardSignals()
    happens(inward)
    text = text_of(families(Signals(), inward, Picture("0.1.0", stats_at(NOW), {})))
    names = ("mails_", "events_total", "lease_", "events_dead", "listener_refusals", "bounces")
    found = {
        _name(sample.name, sample.labels): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if family.type == "counter" and sample.value and sample.name[9:].startswith(names)
    }
    assert found == told


def test_what_waits_to_be_read_is_what_came_and_is_not_done() -> None:
    inward = InwardSignals(waiting=2)
    inward.committed([MailReceived(3), MailReceived(4), MailDone(3)])
    assert inward.waiting == 3


def _name(name: str, labels: dict[str, str]) -> str:
    return f"{name[9:]}{{{','.join(f'{key}={labels[key]}' for key in sorted(labels))}}}"
