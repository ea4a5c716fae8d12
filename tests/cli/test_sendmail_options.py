"""The words that sendmail is called with."""

import pytest

from postroom.cli.exits import Exit
from postroom.cli.sendmail.options import Options, read_options
from postroom.cli.sendmail.unfit import Unfit


OPTIONS = [
    ("", Options()),
    ("-t -i", Options(reads_recipients=True, ends_at_dot=False)),
    ("-ti", Options(reads_recipients=True, ends_at_dot=False)),
    ("-oi -ot", Options(reads_recipients=True, ends_at_dot=False)),
    ("-tfroot", Options(reads_recipients=True, senders=["root"])),
    (
        "-f a@x.example -r b@x.example c@x.example",
        Options(["c@x.example"], ["a@x.example", "b@x.example"]),
    ),
    ("a@x.example -t b@x.example", Options(["a@x.example", "b@x.example"], reads_recipients=True)),
    ("-i -- -t", Options(["-t"], ends_at_dot=False)),
    ("-FCronDaemon -odi -oem -B8BITMIME -om root", Options(["root"])),
    (
        "-F Cron -B 8BITMIME -N never -R hdrs -V id -L tag -X log -O Key=x -h 5 -e m -p smtp root",
        Options(["root"]),
    ),
    ("-N failure,delay -U -G -n -m -c -bm root", Options(["root"])),
    ("-d0.1 -v root", Options(["root"], is_verbose=True)),
    ("-bp", Options(lists_queue=True)),
    ("-C /etc/other.toml x", Options(["x"], settings="/etc/other.toml")),
    ("-", Options(["-"])),
    ("--help", Options(asks_help=True)),
    ("--version", Options(asks_version=True)),
]


@pytest.mark.parametrize(("typed", "meant"), OPTIONS, ids=[row[0] for row in OPTIONS])
def test_options_are_read_as_callers_write_them(typed: str, meant: Options) -> None:
    assert read_options("sendmail", typed.split()) == meant


def test_it_lists_the_queue_under_the_name_of_mailq() -> None:
    assert read_options("/usr/bin/mailq", []).lists_queue


@pytest.mark.parametrize(
    "typed", ["-bs", "-bd", "-bi", "-bv", "-bt", "-q", "-q5m", "-tq", "-Z", "-t -f", "-tZ"]
)
def test_what_it_does_not_do_is_wrong_usage(typed: str) -> None:
    with pytest.raises(Unfit) as caught:
        read_options("sendmail", typed.split())
    assert caught.value.code is Exit.USAGE


def test_newaliases_has_nothing_to_make_new() -> None:
    with pytest.raises(Unfit, match="local_to"):
        read_options("/usr/bin/newaliases", [])
