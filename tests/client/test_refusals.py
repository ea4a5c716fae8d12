"""What the client makes of each kind of no: an exception of its own that says each fault once."""

from pathlib import Path

import pytest

from postroom.client import Client
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
from support.fake_daemon import FakeDaemon, Say, problem
from support.fake_host import FakeHost


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
