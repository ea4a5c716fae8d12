"""Suppressions and mailboxes at the command line: for whom they are, what stops and slows them."""

import pytest

from postroom.cli.tree import main
from support.fake_daemon import FakeDaemon, problem


@pytest.mark.parametrize(
    ("mailbox", "added", "removed"),
    [
        ([], "Nothing is sent to x@example.com any more.", "for all mailboxes."),
        (
            ["--mailbox", "news"],
            "Nothing is sent to x@example.com from news any more.",
            "for news.",
        ),
    ],
    ids=["all", "one"],
)
def test_a_suppression_says_for_which_mailbox_it_is(
    mailbox: list[str],
    added: str,
    removed: str,
    daemon: FakeDaemon,
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["suppressions", "add", "x@example.com", *mailbox])
    assert capsys.readouterr().out == f"{added}\n"
    main(["suppressions", "remove", "x@example.com", *mailbox])
    assert capsys.readouterr().out.endswith(f"{removed}\n")
    daemon.on("DELETE /v1/suppressions", problem(404, "not_found", "?"))
    daemon.on("GET /v1/mailboxes", {"items": [{"id": "news"}]})
    assert main(["suppressions", "remove", "x@example.com", *mailbox]) == 69
    assert "is not suppressed" in capsys.readouterr().err


def test_a_mailbox_that_is_not_blocked_has_no_probe_to_wait_for(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    """A closed breaker has one for a moment after each fault."""
    redial = {"state": "closed", "reason": None, "probe_at": "2026-11-30T07:00:00.250000Z"}
    box = {"id": "a", "address": "a@example.com", "relay": "main", "state": "active"}
    daemon.on("GET /v1/mailboxes", {"items": [{**box, "relay_breaker": redial}]})
    main(["mailboxes"])
    assert "PROBE" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("domains", "told"),
    [
        pytest.param([None], "all: 12.5 a minute", id="the relay"),
        pytest.param(["a.example"], "a.example: 12.5 a minute", id="a domain"),
        pytest.param([None, "a.example", "b.example"], "all: 12.5 a minute, and 2 more", id="more"),
    ],
)
def test_a_mailbox_says_what_is_slowed_down(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str], domains: list[str | None], told: str
) -> None:
    box = {"id": "a", "address": "a@example.com", "relay": "main", "state": "active"}
    slowed = [{"domain": domain, "per_minute": 12.5} for domain in domains]
    daemon.on("GET /v1/mailboxes", {"items": [{**box, "slowed": slowed}]})
    main(["mailboxes"])
    heads, line = capsys.readouterr().out.splitlines()
    assert heads.endswith("SLOWED TO")
    assert line.endswith(f"  {told}")
