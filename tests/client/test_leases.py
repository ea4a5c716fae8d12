"""Leases and the stream of events over restarts and lost answers."""

import pytest

from postroom.client import Client
from postroom.client.errors import Gone, Unreachable
from support.fake_daemon import FakeDaemon, HangUp, Say, problem


LEASE = {"id": "lse_1", "fence": 3}


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
