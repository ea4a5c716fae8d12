"""Failures by domain and by workflow: within the hour, and in bounded memory."""

from postroom.core.alert import AlertScope, Cause
from postroom.core.clusters import NAMES, Clusters
from postroom.core.delivery import DeliveryState
from postroom.core.instant import MINUTE, Instant
from postroom.core.reason import ReasonCode
from postroom.core.sample import Cluster


S = DeliveryState
BAD = ReasonCode.RECIPIENT_UNKNOWN


def end(
    table: Clusters, state: S, minute: int, domain: str = "a.test", trace: str = "run-1"
) -> None:
    reason = BAD if state is S.FAILED else None
    table.ended("support", (domain, trace), state, reason, Instant(minute * MINUTE))


def found(table: Clusters, minute: int) -> dict[tuple[str, str], tuple[int, int]]:
    told = table.within_hour(Instant(minute * MINUTE))
    return {(one.scope, one.name): (one.failed, one.ended) for one in told}


def test_what_failed_is_told_by_domain_and_workflow_with_what_was_sent_since() -> None:
    table = Clusters()
    for state in (S.SENT, S.FAILED, S.SENT, S.FAILED, S.CANCELLED):
        end(table, state, 3)
    assert table.within_hour(Instant(3 * MINUTE)) == (
        Cluster(AlertScope.DOMAIN, "a.test", "support", 2, 3, Cause.OLD_ADDRESSES),
        Cluster(AlertScope.WORKFLOW, "run-1", "support", 2, 3, Cause.OLD_ADDRESSES),
    )


def test_the_cause_is_what_most_of_them_failed_with_in_the_hour() -> None:
    table = Clusters()
    signs = [ReasonCode.MESSAGE_SPAM] * 3 + [BAD] * 2
    for minute, reason in enumerate([*signs, BAD, BAD]):
        table.ended("support", ("a.test", "run"), S.FAILED, reason, Instant(minute * 9 * MINUTE))
    told = table.within_hour(Instant(59 * MINUTE))
    assert [(one.failed, one.cause) for one in told] == [(7, Cause.OLD_ADDRESSES)] * 2


def test_after_an_hour_it_is_forgotten() -> None:
    table = Clusters()
    end(table, S.FAILED, 0)
    assert found(table, 59)
    assert not found(table, 60)
    for minute in range(0, 120, 5):
        end(table, S.FAILED, minute)
    assert found(table, 119) == {("domain", "a.test"): (12, 12), ("workflow", "run-1"): (12, 12)}


def test_what_was_counted_in_a_future_that_was_none_is_not_of_this_hour() -> None:
    table = Clusters()
    end(table, S.FAILED, 10_000)
    assert not found(table, 30)
    end(table, S.FAILED, 30)
    assert found(table, 30) == {("domain", "a.test"): (1, 1), ("workflow", "run-1"): (1, 1)}


def test_names_without_number_cost_no_memory_without_bound_and_push_out_nobody_who_fails_on() -> (
    None
):
    table = Clusters()
    for number in range(3 * NAMES):
        end(table, S.FAILED, 0, trace=f"run-{number}")
    assert len(table.within_hour(Instant(0))) == NAMES + 1
    assert found(table, 0)["domain", "a.test"] == (3 * NAMES, 3 * NAMES)
    assert ("workflow", "run-0") not in found(table, 0)
