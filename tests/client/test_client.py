"""The public client hands mail over: under one key, tried again in its time, and waited for."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from postroom.client import Client, find_socket, is_settled
from postroom.client.errors import TryLater, Unreachable
from postroom.client.wire import Tried
from support.fake_daemon import FakeDaemon, HangUp, Say, problem
from support.fake_host import FakeHost


ACCEPTED = {
    "id": "job_1",
    "status": "accepted",
    "deliveries": [{"id": "dlv_1", "state": "pending"}],
}
FULL = problem(507, "storage_full", "the disk is full", retryable=True, retry_after_s=3)


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
