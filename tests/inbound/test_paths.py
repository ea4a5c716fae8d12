"""The arguments of MAIL and RCPT."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.inbound.paths import Path, read_path


GOOD = {
    "plain": ("FROM:<a@example.net>", Path("a@example.net", {})),
    "null": ("from:<>", Path("", {})),
    "a blank": ("FROM: <a@example.net> ", Path("a@example.net", {})),
    "parameters": ("FROM:<a@example.net> SIZE=12 body=8BITMIME SMTPUTF8", Path("a@example.net", {"SIZE": "12", "BODY": "8BITMIME", "SMTPUTF8": ""})),
    "a route": ("FROM:<@one.test,@two.test:a@example.net>", Path("a@example.net", {})),
    "quoted": ('FROM:<"a b\\"c"@example.net>', Path('"a b\\"c"@example.net', {})),
    "a literal": ("FROM:<a@[192.0.2.1]>", Path("a@[192.0.2.1]", {})),
    "rewritten": ("FROM:<SRS0=x=y=example.com=bob+t@fwd.test>", Path("SRS0=x=y=example.com=bob+t@fwd.test", {})),
    "of the world": ("FROM:<jürgen@exämple.test>", Path("jürgen@exämple.test", {})),
    "no domain": ("FROM:<postmaster>", Path("postmaster", {})),
}  # fmt: skip
BAD = {
    "nothing": None,
    "no brackets": "FROM:a@example.net",
    "the other one": "TO:<a@example.net>",
    "a list": "FROM:<a@example.net>,<b@example.net>",
    "two in one": "FROM:<a@example.net,b@example.net>",
    "open": "FROM:<a@example.net",
    "parameters at once": "FROM:<a@example.net>SIZE=1",
    "a bracket inside": "FROM:<a@exa>mple.net> X=1",
    "a line end": "FROM:<a@exa\rmple.net>",
    "a control": "FROM:<a\x00@example.net>",
    "no utf-8": "FROM:<a\udcff@example.net>",
    "two ats": "FROM:<a@b@example.net>",
    "no local part": "FROM:<@example.net>",
    "endless": f"FROM:<{'a' * 600}@example.net>",
}


@pytest.mark.parametrize(("argument", "path"), GOOD.values(), ids=GOOD)
def test_a_path_is_read(argument: str, path: Path) -> None:
    assert read_path("FROM", argument) == path


@pytest.mark.parametrize("argument", BAD.values(), ids=BAD)
def test_what_is_no_path_is_refused(argument: str | None) -> None:
    assert read_path("FROM", argument) is None


@given(st.text(alphabet='<>@:,"\\ ()[]aé\x00\r\n=.+', max_size=60))
def test_nothing_that_is_read_could_be_taken_for_more_than_one_address(text: str) -> None:
    path = read_path("TO", f"TO:{text}")
    if path is not None and not path.address.startswith('"'):
        assert set(path.address).isdisjoint('<>:,"\\ ()\x00\r\n')


def test_the_longest_line_of_quotes_is_read_at_once() -> None:
    for evil in ('"' * 1000, "\\" * 1000, "@" * 1000, "<" * 1000, "(" * 1000, '"\\' * 500):
        assert read_path("FROM", f"FROM:<{evil}>") is None
