"""The public client, against a small daemon that says what the test wants."""

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from postroom.client import Client, find_socket, is_settled
from postroom.client.errors import (
    Broken,
    Conflict,
    Denied,
    Gone,
    Invalid,
    NotFound,
    NotUnderstood,
    Problem,
    Refused,
    TryLater,
    Unreachable,
)
from postroom.client.wire import Tried
from support.fake_daemon import FakeDaemon, HangUp, Say, fake_daemon, problem
from support.fake_host import FakeHost


ACCEPTED = {
    "id": "job_1",
    "status": "accepted",
    "deliveries": [{"id": "dlv_1", "state": "pending"}],
}
FULL = problem(507, "storage_full", "the disk is full", retryable=True, retry_after_s=3)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[FakeDaemon]:
    with fake_daemon(tmp_path) as running:
        yield running


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


@pytest.fixture
def client(daemon: FakeDaemon, host: FakeHost) -> Client:
    return Client(str(daemon.socket), retry_s=10, host=host)


def test_a_mail_is_handed_over_with_a_key_of_its_own(daemon: FakeDaemon, client: Client) -> None:
    daemon.on("POST /v1/jobs", Say(202, ACCEPTED))
    job = client.send("support", "ann@example.com", "Hello", "Text.\n", priority="high")
    assert job == ACCEPTED
    assert daemon.asked[0].json == {
        "mailbox_id": "support",
        "to": ["ann@example.com"],
        "subject": "Hello",
        "text": "Text.\n",
        "priority": "high",
        "idempotency_key": "minted-1",
    }
    assert daemon.asked[0].headers["content-type"] == "application/json"


def test_a_key_of_the_callers_own_is_kept(daemon: FakeDaemon, client: Client) -> None:
    daemon.on("POST /v1/jobs", Say(202, ACCEPTED))
    client.submit({"mailbox_id": "support", "idempotency_key": "report-2026-09"})
    assert daemon.asked[0].json["idempotency_key"] == "report-2026-09"


@pytest.mark.parametrize(
    "fault",
    [
        HangUp(),
        FULL,
        problem(503, "store_unavailable", "not now"),
        problem(429, "mailbox_queue_full", "too many wait"),
        Say(503, b"not JSON", {"Retry-After": "1"}),
    ],
    ids=["answer lost", "507", "503", "429", "503 without a document"],
)
def test_a_job_is_tried_again_under_the_same_key(
    fault: Say | HangUp, daemon: FakeDaemon, client: Client
) -> None:
    daemon.on("POST /v1/jobs", fault, Say(202, ACCEPTED))
    assert client.send("support", "ann@example.com", "Hello", "Text.\n") == ACCEPTED
    first, second = daemon.asked
    assert first.body == second.body


def test_a_daemon_that_restarts_is_not_noticed(
    daemon: FakeDaemon, client: Client, host: FakeHost
) -> None:
    daemon.on("POST /v1/jobs", Say(202, ACCEPTED))
    daemon.stop()
    host.on_sleep = lambda _: daemon.start() if len(host.slept) == 3 else None
    assert client.send("support", "ann@example.com", "Hello", "Text.\n") == ACCEPTED
    assert host.slept == [0.05, 0.1, 0.2]


def test_trying_ends_when_its_time_is_over(daemon: FakeDaemon, host: FakeHost) -> None:
    daemon.stop()
    client = Client(str(daemon.socket), retry_s=10, host=host)
    with pytest.raises(Unreachable, match="no daemon") as caught:
        client.send("support", "ann@example.com", "Hello", "Text.\n")
    assert 8 <= host.at_s <= 10
    assert caught.value.idempotency_key == "minted-1"
    assert not caught.value.is_answer_lost


def test_every_try_of_a_call_is_heard_with_what_it_came_to_and_how_long_it_took(
    daemon: FakeDaemon, host: FakeHost
) -> None:
    heard: list[Tried] = []
    client = Client(str(daemon.socket), retry_s=10, host=host, hear=heard.append)
    daemon.on("GET /v1/stats", FULL, HangUp(), {})
    client.stats()
    lost = f"the answer was lost (RemoteDisconnected): {daemon.socket}"
    daemon.on("GET /v1/events/stream", Say(body=b"id: 1\ndata: {}\n\n"))
    next(client.follow())
    assert heard == [
        Tried("GET", "/v1/stats", 507, None, 0),
        Tried("GET", "/v1/stats", None, lost, 0),
        Tried("GET", "/v1/stats", 200, None, 0),
        Tried("GET", "/v1/events/stream", 200, None, 0),
    ]


def test_a_try_is_timed_from_its_beginning_also_where_nobody_listens(
    tmp_path: Path, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Tried] = []
    moments = iter(range(10))
    monkeypatch.setattr(host, "monotonic_s", lambda: next(moments))
    gone = str(tmp_path / "gone")
    with pytest.raises(Unreachable):
        Client(gone, retry_s=0, host=host, hear=heard.append).stats()
    (one,) = heard
    assert (one.status, one.fault) == (None, f"no daemon: there is no socket {gone}")
    assert one.took_s == 1


def test_what_the_daemon_asks_for_is_waited(
    daemon: FakeDaemon, client: Client, host: FakeHost
) -> None:
    daemon.on("POST /v1/jobs", FULL, FULL, Say(202, ACCEPTED))
    client.send("support", "ann@example.com", "Hello", "Text.\n")
    assert host.slept == [3, 3]


def test_a_wait_longer_than_our_time_is_not_begun(
    daemon: FakeDaemon, client: Client, host: FakeHost
) -> None:
    daemon.on("GET /v1/stats", problem(503, "store_unavailable", "not now", retry_after_s=60))
    with pytest.raises(TryLater):
        client.stats()
    assert host.slept == []


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda c: c.retry("dlv_1"), id="retry"),
        pytest.param(lambda c: c.resolve("dlv_1", "resend"), id="resolve"),
        pytest.param(lambda c: c.act("retry", {"state": "failed"}), id="bulk retry"),
        pytest.param(lambda c: c.unsuppress("a@example.com"), id="unsuppress"),
    ],
)
def test_what_may_not_be_done_twice_is_not_repeated_when_its_answer_is_lost(
    act: Callable[[Client], object], daemon: FakeDaemon, client: Client
) -> None:
    for call in (
        "POST /v1/deliveries/dlv_1/retry",
        "POST /v1/deliveries/dlv_1/resolve",
        "POST /v1/deliveries/retry",
        "DELETE /v1/suppressions",
    ):
        daemon.on(call, HangUp())
    with pytest.raises(Unreachable, match="answer was lost") as caught:
        act(client)
    assert caught.value.is_answer_lost
    assert len(daemon.asked) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Invalid),
        (403, Denied),
        (404, NotFound),
        (405, Refused),
        (409, Conflict),
        (410, Gone),
        (413, Invalid),
        (422, Invalid),
        (408, TryLater),
        (500, Broken),
    ],
)
def test_each_kind_of_no_is_an_exception_of_its_own(
    status: int, kind: type[Problem], daemon: FakeDaemon, client: Client
) -> None:
    daemon.on(
        "GET /v1/stats",
        problem(status, "some_code", "No.", errors=[{"pointer": "/to/0", "detail": "bad"}]),
    )
    with pytest.raises(kind) as caught:
        client.stats()
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.code) == (status, "some_code")
    assert caught.value.fix == "Do it otherwise."
    assert caught.value.errors == (("/to/0", "bad"),)
    assert str(caught.value) == "No.; /to/0: bad"
    assert len(daemon.asked) == 1


def test_the_text_of_an_error_says_each_fault_once(daemon: FakeDaemon, client: Client) -> None:
    errors = [
        {"pointer": "/to/0", "detail": "Bad."},
        {"pointer": "/mailbox_id", "detail": "Unknown."},
    ]
    daemon.on("GET /v1/stats", problem(422, "x", "/to/0: Bad. And 1 more.", errors=errors))
    with pytest.raises(Invalid) as caught:
        client.stats()
    assert str(caught.value) == "/to/0: Bad.; /mailbox_id: Unknown."


def test_an_answer_that_is_not_json_is_named(daemon: FakeDaemon, client: Client) -> None:
    daemon.on("GET /v1/stats", Say(200, b"<html>"))
    with pytest.raises(NotUnderstood, match="not JSON"):
        client.stats()


def test_a_socket_that_may_not_be_used_is_said_at_once(tmp_path: Path, host: FakeHost) -> None:
    long = Client("/" + "x" * 200, host=FakeHost(), retry_s=0)
    with pytest.raises(Unreachable, match="no daemon at"):
        long.stats()
    assert host.slept == []


def test_waiting_goes_on_until_the_job_is_settled(daemon: FakeDaemon, client: Client) -> None:
    done = {"id": "job_1", "deliveries": [{"id": "dlv_1", "state": "sent"}]}
    daemon.on("GET /v1/jobs/job_1", ACCEPTED, HangUp(), Say(body=done))
    assert client.wait("job_1", timeout_s=60) == done
    assert daemon.asked[0].query == {"wait": "settled", "timeout_s": "20"}


def test_waiting_ends_when_its_time_is_over(
    daemon: FakeDaemon, client: Client, host: FakeHost
) -> None:
    daemon.on("GET /v1/jobs/job_1", ACCEPTED)
    job = client.wait("job_1", timeout_s=2)
    assert not is_settled(job)
    assert host.at_s <= 2


def test_lists_are_read_page_by_page(daemon: FakeDaemon, client: Client) -> None:
    first = {"items": [{"id": "job_1"}, {"id": "job_2"}], "next_cursor": "c/1"}
    daemon.on("GET /v1/jobs", first, {"items": [{"id": "job_3"}], "next_cursor": None})
    found = [job["id"] for job in client.every(client.jobs, mailbox_id="support", since=None)]
    assert found == ["job_1", "job_2", "job_3"]
    assert daemon.asked[0].query == {"mailbox_id": "support"}
    assert daemon.asked[1].query == {"mailbox_id": "support", "cursor": "c/1"}


class Pipe(io.RawIOBase):
    """A source that can be read once and not measured."""

    def __init__(self, data: bytes) -> None:
        self.left = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self.left.read(size)


STAGED = Say(201, {"ref": "att_1"})


def test_a_file_is_uploaded_whole_and_again_after_a_fault(
    daemon: FakeDaemon, client: Client, tmp_path: Path
) -> None:
    data = bytes(range(256)) * 4096
    (tmp_path / "Übersicht 1.bin").write_bytes(data)
    daemon.on("POST /v1/attachments", HangUp(), STAGED)
    assert client.stage(tmp_path / "Übersicht 1.bin") == {"ref": "att_1"}
    assert [asked.body == data for asked in daemon.asked] == [True, True]
    assert daemon.asked[1].query == {"filename": "Übersicht 1.bin"}


def test_a_pipe_is_uploaded_in_pieces_and_only_once(daemon: FakeDaemon, client: Client) -> None:
    data = b"x" * 300_000
    daemon.on("POST /v1/attachments", STAGED)
    client.stage(Pipe(data), filename="x.bin", content_type="text/plain")  # type: ignore[arg-type]
    assert daemon.asked[0].body == data
    assert daemon.asked[0].headers["content-type"] == "text/plain"
    daemon.on("POST /v1/attachments", HangUp(), STAGED)
    with pytest.raises(Unreachable):
        client.stage(Pipe(data), filename="x.bin")  # type: ignore[arg-type]


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


def test_a_daemon_that_does_not_start_is_not_ready(daemon: FakeDaemon, client: Client) -> None:
    daemon.on("GET /v1/readyz", problem(503, "recovering", "not yet"))
    assert not client.is_ready()


@pytest.mark.parametrize(
    ("given", "env", "found"),
    [
        ("/a.sock", "/b.sock", "/a.sock"),
        (None, "/b.sock", "/b.sock"),
        (None, "", "/run/postroom/api.sock"),
    ],
    ids=["argument", "environment", "default"],
)
def test_the_socket_is_looked_for_in_order(
    given: str | None, env: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_SOCKET", env)
    assert find_socket(given) == found


def test_the_client_needs_the_standard_library_only() -> None:
    import subprocess  # noqa: PLC0415 - this test alone

    code = "import sys, postroom.client as c; print([m for m in sys.modules if m.split('.')[0] in ('click', 'aiohttp', 'msgspec') or m.startswith('postroom.') and not m.startswith('postroom.client')])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "daemon")},
    )
    assert done.stdout.strip() == "[]"


# -- leases and the stream


def sse(*seqs: int) -> bytes:
    blocks = [f'id: {seq}\ndata: {{"seq": {seq}}}\n\n' for seq in seqs]
    return f"retry: 2000\n\n: ping\n\n{''.join(blocks)}event: bye\ndata: {{}}\n\n".encode()


def test_a_stream_goes_on_where_it_broke(daemon: FakeDaemon, client: Client) -> None:
    daemon.on(
        "GET /v1/events/stream",
        Say(body=sse(1, 2)),
        HangUp(),
        problem(503, "draining", "It stops."),
        Say(body=sse(3)),
    )
    events = client.follow(after=0)
    assert [next(events)["seq"] for _ in range(3)] == [1, 2, 3]
    assert dict(daemon.asked[0].query) == {"after": "0"}
    assert [one.headers.get("last-event-id") for one in daemon.asked] == [None, "2", "2", "2"]


def test_a_stream_of_another_log_ends(daemon: FakeDaemon, client: Client) -> None:
    daemon.on("GET /v1/events/stream", problem(410, "log_reset", "Another one."))
    with pytest.raises(Gone):
        next(client.follow(after=9))


def test_a_stream_gives_up_on_a_daemon_that_stays_away(daemon: FakeDaemon, client: Client) -> None:
    daemon.stop()
    with pytest.raises(Unreachable):
        next(client.follow())


def test_a_lease_whose_answer_was_lost_is_asked_for_as_the_same_attempt(
    daemon: FakeDaemon, client: Client
) -> None:
    daemon.on("POST /v1/leases", HangUp(), Say(body={"leases": [LEASE]}))
    assert client.lease("a") == [LEASE]
    first, second = (one.json["attempt_id"] for one in daemon.asked)
    assert first == second


def test_a_poll_goes_on_over_a_restart_until_its_time_is_up(
    daemon: FakeDaemon, client: Client
) -> None:
    daemon.on(
        "POST /v1/leases",
        {"leases": [], "draining": True},
        {"leases": [LEASE]},
    )
    assert client.lease("a", wait_s=60) == [LEASE]
    assert [one.json["wait_s"] for one in daemon.asked] == [30, 30]


def test_replies_get_a_key_before_the_first_try(daemon: FakeDaemon, client: Client) -> None:
    daemon.on("POST /v1/leases/lse_1/complete", HangUp(), Say(body={"acked": []}))
    client.complete(LEASE, [{"in_reply_to_event": "evt_1", "text": "x"}])
    first, second = (one.json["replies"][0]["idempotency_key"] for one in daemon.asked)
    assert first == second
