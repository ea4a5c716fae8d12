"""Every call of the client goes where the contract says, and lists are read page by page."""

from collections.abc import Callable

import pytest

from postroom.client import Client
from support.fake_daemon import FakeDaemon


def test_lists_are_read_page_by_page(daemon: FakeDaemon, client: Client) -> None:
    first = {"items": [{"id": "job_1"}, {"id": "job_2"}], "next_cursor": "c/1"}
    daemon.on("GET /v1/jobs", first, {"items": [{"id": "job_3"}], "next_cursor": None})
    found = [job["id"] for job in client.every(client.jobs, mailbox_id="support", since=None)]
    assert found == ["job_1", "job_2", "job_3"]
    assert daemon.asked[0].query == {"mailbox_id": "support"}
    assert daemon.asked[1].query == {"mailbox_id": "support", "cursor": "c/1"}


LEASE = {"id": "lse_1", "fence": 3}


SEND_AT = "2026-12-01T07:00:00Z"
CALLS: list[tuple[str, Callable[[Client], object], str, object]] = [
    ("job", lambda c: c.job("job_1"), "GET /v1/jobs/job_1", None),
    ("cancel", lambda c: c.cancel("job_1"), "POST /v1/jobs/job_1/cancel", None),
    (
        "reschedule",
        lambda c: c.reschedule("job_1", SEND_AT),
        "POST /v1/jobs/job_1/reschedule",
        {"send_at": SEND_AT},
    ),
    ("delivery", lambda c: c.delivery("dlv_1"), "GET /v1/deliveries/dlv_1", None),
    ("explain", lambda c: c.explain("dlv_1"), "GET /v1/deliveries/dlv_1/explain", None),
    ("raw", lambda c: c.raw("dlv_1"), "GET /v1/deliveries/dlv_1/raw", None),
    ("deliveries", lambda c: c.deliveries(), "GET /v1/deliveries", None),
    ("retry", lambda c: c.retry("dlv_1"), "POST /v1/deliveries/dlv_1/retry", None),
    (
        "resolve",
        lambda c: c.resolve("dlv_1", "sent"),
        "POST /v1/deliveries/dlv_1/resolve",
        {"as": "sent"},
    ),
    (
        "bulk resolve",
        lambda c: c.act("resolve", {"state": "uncertain"}, verdict="sent", dry_run=True, limit=5),
        "POST /v1/deliveries/resolve",
        {"filter": {"state": "uncertain"}, "dry_run": True, "limit": 5, "as": "sent"},
    ),
    ("dead letters", lambda c: c.dead_letters(), "GET /v1/dead-letters", None),
    ("attachment", lambda c: c.attachment("att_1"), "GET /v1/attachments/att_1", None),
    ("mailboxes", lambda c: c.mailboxes(), "GET /v1/mailboxes", None),
    ("pause", lambda c: c.pause("a b"), "POST /v1/mailboxes/a%20b/pause", None),
    ("resume", lambda c: c.resume("support"), "POST /v1/mailboxes/support/resume", None),
    ("check", lambda c: c.check("support"), "POST /v1/mailboxes/support/check", None),
    ("suppressions", lambda c: c.suppressions(), "GET /v1/suppressions", None),
    (
        "suppress",
        lambda c: c.suppress("a@example.com", reason="asked"),
        "POST /v1/suppressions",
        {"address": "a@example.com", "reason": "asked"},
    ),
    ("events", lambda c: c.events(), "GET /v1/events", None),
    ("stats", lambda c: c.stats(), "GET /v1/stats", None),
    (
        "extend",
        lambda c: c.extend(LEASE, 30),
        "PATCH /v1/leases/lse_1",
        {"fence": 3, "lease_s": 30},
    ),
    (
        "release",
        lambda c: c.release(LEASE, delay_s=5, reason="later", failed=True),
        "POST /v1/leases/lse_1/release",
        {"fence": 3, "delay_s": 5, "reason": "later", "failed": True},
    ),
    (
        "complete",
        lambda c: c.complete(LEASE, ack=["evt_1"]),
        "POST /v1/leases/lse_1/complete",
        {"fence": 3, "ack": ["evt_1"], "replies": []},
    ),
    ("consumers", lambda c: c.consumers(), "GET /v1/consumers", None),
    (
        "make consumer",
        lambda c: c.make_consumer("a", ["reply.received"], start="now"),
        "POST /v1/consumers",
        {"name": "a", "types": ["reply.received"], "start": "now"},
    ),
    ("delete consumer", lambda c: c.delete_consumer("a"), "DELETE /v1/consumers/a", None),
    (
        "retry event",
        lambda c: c.retry_event("evt_1", "a"),
        "POST /v1/events/evt_1/retry",
        {"consumer": "a"},
    ),
    ("dead events", lambda c: c.dead_events(), "GET /v1/dead-letters", None),
    ("thread", lambda c: c.thread("thr_1"), "GET /v1/threads/thr_1", None),
    ("resume thread", lambda c: c.resume_thread("thr_1"), "POST /v1/threads/thr_1/resume", None),
    ("event raw", lambda c: c.event_raw("evt_1"), "GET /v1/events/evt_1/raw", None),
    ("metrics", lambda c: c.metrics(), "GET /v1/metrics", None),
    ("version", lambda c: c.version(), "GET /v1/version", None),
    ("ready", lambda c: c.is_ready(), "GET /v1/readyz", None),
]


@pytest.mark.parametrize(
    ("act", "call", "body"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS]
)
def test_every_call_goes_where_the_contract_says(
    act: Callable[[Client], object],
    call: str,
    body: object,
    daemon: FakeDaemon,
    client: Client,
) -> None:
    daemon.on(call, {"items": []})
    act(client)
    (asked,) = daemon.asked
    assert f"{asked.method} {asked.path}" == call
    assert (asked.json if asked.body else None) == body


def test_a_batch_gives_each_job_its_own_key(daemon: FakeDaemon, client: Client) -> None:
    daemon.on("POST /v1/jobs/batch", {"results": [{"status": 202}, {"status": 422}]})
    results = client.batch([{"subject": "a"}, {"subject": "b", "idempotency_key": "mine"}])
    assert [result["status"] for result in results] == [202, 422]
    keys = [job["idempotency_key"] for job in daemon.asked[0].json["jobs"]]
    assert keys == ["minted-1", "mine"]
