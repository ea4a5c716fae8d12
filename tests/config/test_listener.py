"""Where answers get in: what can be set up, what could never work, and what must stand in DNS."""

import os
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest
import trustme

from postroom.config.dnsrecords import DnsRecord, advice, dns_records
from postroom.core.listening import ListenAt, Listening, Nameserver
from postroom.core.mailbox import AcceptNew, Require
from postroom.core.token import make_key
from support.config_files import MAILBOX, load_text, problems_of, write_settings


LISTENER = """
[listener]
hostname = "MX.Example.com"
domains = ["Reply.Example.com", "exämple.test"]
"""
SECRET = "0123456789abcdef" * 2


def _both(listener: str = "", mailbox: str = "", head: str = LISTENER) -> str:
    return f"{head}{listener}\n{MAILBOX}{mailbox}\n"


def test_a_listener_is_read_whole(tmp_path: Path) -> None:
    text = _both(
        'listen = ["127.0.0.1:2525", "[::1]:25"]\npostmaster = "support"\nmax_message_bytes = 70000\n'
        'trusted_relays = ["192.0.2.1", "2001:db8::/64"]\ntrusted_authserv_ids = ["MX.example.net"]\n'
        'resolvers = ["127.0.0.1", "192.0.2.53:5353", "::1", "[2001:db8::53]", "[2001:db8::54]:54"]',
        'reply_address = "R-{token}@Reply.example.com"\nreturn_path = "b-{token}@exämple.test"\naccept_new = "none"\nrequire = "dkim"',
    )
    settings = load_text(tmp_path, text)
    assert settings.listener == Listening(
        hostname="mx.example.com",
        listen=(ListenAt("127.0.0.1", 2525), ListenAt("::1", 25)),
        domains=("reply.example.com", "xn--exmple-cua.test"),
        max_message_bytes=70_000,
        postmaster="support",
        trusted_relays=(ip_network("192.0.2.1"), ip_network("2001:db8::/64")),
        trusted_authserv_ids=("mx.example.net",),
        resolvers=(
            Nameserver("127.0.0.1"),
            Nameserver("192.0.2.53", 5353),
            Nameserver("::1"),
            Nameserver("2001:db8::53"),
            Nameserver("2001:db8::54", 54),
        ),
    )
    box = settings.mailboxes["support"]
    assert box.reply_address == "R-{token}@reply.example.com"
    assert box.return_path == "b-{token}@xn--exmple-cua.test"
    assert (box.accept_new, box.require) == (AcceptNew.NONE, Require.DKIM)
    assert settings.warnings == ()


def test_without_a_listener_mail_comes_in_nowhere(tmp_path: Path) -> None:
    settings = load_text(tmp_path, MAILBOX)
    assert settings.listener is None
    box = settings.mailboxes["support"]
    assert (box.accept_new, box.require) == (AcceptNew.AUTHENTICATED, Require.ANY)
    assert (dns_records(settings), advice(settings)) == ((), ())


WRONG = {
    "no name": (_both(head="[listener]\n"), "listener.hostname", "missing"),
    "a name that is none": (_both(head="[listener]\nhostname = 'a b'\n"), "listener.hostname", "no host name"),
    "a port alone": (_both("listen = ['25']"), "listener.listen", "no address and port"),
    "a name to listen on": (_both("listen = ['mx.example.com:25']"), "listener.listen", "no address"),
    "ipv6 without brackets": (_both("listen = ['::1:25']"), "listener.listen", "no address"),
    "port 0": (_both("listen = ['127.0.0.1:0']"), "listener.listen", "no address"),
    "a port beyond all": (_both("listen = ['127.0.0.1:65536']"), "listener.listen", "no address"),
    "the same twice": (_both("listen = ['127.0.0.1:25', '127.0.0.1:25']"), "listener.listen", "twice"),
    "a domain that is none": (_both(head="[listener]\nhostname = 'mx.test'\ndomains = ['a b']\n"), "listener.domains", "no domain"),
    "a tiny bound": (_both("max_message_bytes = 1"), "listener.max_message_bytes", "at least"),
    "a postmaster who is nobody": (_both("postmaster = 'x'"), "listener.postmaster", "'support'"),
    "nobody to be postmaster": (LISTENER, "listener.postmaster", "missing"),
    "a relay by name": (_both("trusted_relays = ['mx.example.net']"), "listener.trusted_relays", "no IP address"),
    "a network with host bits": (_both("trusted_relays = ['192.0.2.1/24']"), "listener.trusted_relays", "no IP address"),
    "a certificate alone": (_both("tls_certificate = 'x'"), "listener.tls_key", "go together"),
    "a key alone": (_both("tls_key = 'x'"), "listener.tls_certificate", "go together"),
    "files that are not there": (_both("tls_key = 'x'\ntls_certificate = 'y'"), "listener.tls_certificate", "No such file"),
    "no token": (_both(mailbox="reply_address = 'r@reply.example.com'"), "mailbox.support.reply_address", "{token} once"),
    "two tokens": (_both(mailbox="reply_address = 'r-{token}{token}@reply.example.com'"), "mailbox.support.reply_address", "{token} once"),
    "a token as domain": (_both(mailbox="reply_address = 'r@{token}.example.com'"), "mailbox.support.reply_address", "{token} once"),
    "a domain that is not ours": (_both(mailbox="return_path = 'b-{token}@example.com'"), "mailbox.support.return_path", "listener.domains"),
    "a local part of 65": (_both(mailbox=f"reply_address = '{'r' * 36}{{token}}@reply.example.com'"), "mailbox.support.reply_address", "65 characters"),
    "a header in it": (_both(mailbox="reply_address = 'r-{token}@reply.example.com\\u000a'".replace("'", '"')), "mailbox.support.reply_address", "line end"),
    "two addresses": (_both(mailbox="reply_address = 'a@b.test,r-{token}@reply.example.com'"), "mailbox.support.reply_address", "is wrong"),
    "no listener": (_both(mailbox="reply_address = 'r-{token}@reply.example.com'", head=""), "mailbox.support.reply_address", "no [listener]"),
    "an unknown wish": (_both(mailbox="accept_new = 'some'"), "mailbox.support.accept_new", "'some'"),
    "an unknown need": (_both(mailbox="require = 'spf'"), "mailbox.support.require", "'spf'"),
    "an authserv-id that is no name": (_both("trusted_authserv_ids = ['a b']"), "listener.trusted_authserv_ids", "no host name"),
    "a resolver by name": (_both("resolvers = ['dns.example.com']"), "listener.resolvers", "no address"),
    "a resolver's port beyond all": (_both("resolvers = ['127.0.0.1:99999']"), "listener.resolvers", "no address"),
    "half a resolver": (_both("resolvers = ['[::1']"), "listener.resolvers", "no address"),
    "no resolver at all": (_both("resolvers = ['']"), "listener.resolvers", "no address"),
    "a resolver twice": (_both("resolvers = ['127.0.0.1', '127.0.0.1:53']"), "listener.resolvers", "twice"),
    "a key itself": ("[tokens]\nkeys = ['0123456789abcdef0123456789abcdef']", "tokens.keys", "reference"),
    "a short key": ("[tokens]\nkeys = ['env:SHORT']", "tokens.keys", "less than 32"),
    "a key that is not there": ("[tokens]\nkeys = ['env:NONE']", "tokens.keys", "not set"),
    "a key twice": ("[tokens]\nkeys = ['env:KEY', 'env:KEY']", "tokens.keys", "twice"),
    "tokens for a moment": ("[tokens]\nexpiry_s = 1", "tokens.expiry_s", "at least"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "key", "words"), WRONG.values(), ids=WRONG)
def test_what_could_never_work_is_refused_with_what_to_do(
    tmp_path: Path, text: str, key: str, words: str
) -> None:
    environ = {"SHORT": "hunter2", "KEY": SECRET}
    (problem,) = problems_of(write_settings(tmp_path, text), environ)
    assert problem.key == key
    assert words in problem.line
    assert "hunter2" not in problem.line
    assert problem.fix.endswith((".", "?"))


def test_the_listener_stands_in_the_main_file_alone(tmp_path: Path) -> None:
    path = write_settings(tmp_path, "", more=LISTENER)
    (problem,) = problems_of(path)
    assert problem.key == "listener"
    assert "main file" in problem.fix


def test_the_longest_local_part_is_taken_and_one_beyond_40_is_warned_of(tmp_path: Path) -> None:
    for before, is_long in ((11, False), (12, True), (35, True)):
        template = f"reply_address = '{'r' * before}{{token}}@reply.example.com'"
        warnings = load_text(tmp_path, _both(mailbox=template)).warnings
        assert [one.key for one in warnings] == ["mailbox.support.reply_address"] * is_long


def test_where_nobody_is_named_the_first_mailbox_is_postmaster(tmp_path: Path) -> None:
    settings = load_text(tmp_path, _both())
    assert settings.listener is not None
    assert settings.listener.postmaster == "support"
    assert settings.warnings == ()
    second = MAILBOX.replace("support", "sales")
    several = load_text(tmp_path, _both() + second)
    assert [one.key for one in several.warnings] == ["listener.postmaster"]
    assert "'support'" in several.warnings[0].wrong


def test_a_certificate_and_a_key_must_belong_together(tmp_path: Path) -> None:
    for name in ("one", "two"):
        issued = trustme.CA().issue_cert("mx.example.com")
        issued.private_key_pem.write_to_path(str(tmp_path / f"{name}.key"))
        issued.cert_chain_pems[0].write_to_path(str(tmp_path / f"{name}.pem"))
    pair = _both("tls_certificate = 'one.pem'\ntls_key = 'one.key'")
    settings = load_text(tmp_path, pair)
    assert settings.listener is not None
    assert settings.listener.tls_key == str(tmp_path / "one.key")
    (problem,) = problems_of(write_settings(tmp_path, pair.replace("one.key", "two.key")))
    assert "no pair" in problem.wrong


def test_a_certificate_that_is_no_plain_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").write_text("text")
    for pair in (("fifo", "file"), ("file", "fifo")):
        text = _both("tls_certificate = '{}'\ntls_key = '{}'".format(*pair))
        (problem,) = problems_of(write_settings(tmp_path, text))
        assert "not a file" in problem.wrong


def test_keys_come_by_reference_newest_first_and_no_repr_holds_them(tmp_path: Path) -> None:
    environ = {"NEW": SECRET, "OLD": SECRET.swapcase()}
    text = "[tokens]\nkeys = ['env:NEW', 'env:OLD']\nexpiry_s = 86400"
    tokens = load_text(tmp_path, text, environ).tokens
    assert tokens.keys == (make_key(SECRET.encode()), make_key(SECRET.swapcase().encode()))
    assert tokens.expiry == timedelta(days=1)
    assert SECRET not in repr(tokens) + repr(tokens.keys)


def test_the_records_are_those_that_mail_needs_to_come_here(tmp_path: Path) -> None:
    text = _both(mailbox='return_path = "b-{token}@reply.example.com"')
    settings = load_text(tmp_path, text)
    records = dns_records(settings)
    assert records[:3] == (
        DnsRecord("mx.example.com.", "A/AAAA", "the public address of this host"),
        DnsRecord("reply.example.com.", "MX", "10 mx.example.com."),
        DnsRecord("xn--exmple-cua.test.", "MX", "10 mx.example.com."),
    )
    assert [(one.name, one.type) for one in records[3:]] == [("reply.example.com.", "TXT")]
    said = " ".join(advice(settings))
    assert "unencrypted" in said
    assert "reverse-path" in said
    assert "'support'" in said


def test_who_listens_on_this_machine_alone_is_told_what_is_missing(tmp_path: Path) -> None:
    settings = load_text(tmp_path, _both("listen = ['127.0.0.1:2525']"))
    assert "recipe B" in " ".join(advice(settings))
    front = "10 (the name of your mail server)."
    assert [(one.type, one.value) for one in dns_records(settings)] == [("MX", front)] * 2
    open_one = load_text(tmp_path, _both("listen = ['127.0.0.1:2525', '0.0.0.0:25']"))
    assert "recipe B" not in " ".join(advice(open_one))


def test_a_trusted_word_that_nobody_hands_on_is_warned_of(tmp_path: Path) -> None:
    alone = "trusted_authserv_ids = ['mx.example.net']\n"
    warnings = load_text(tmp_path, _both(alone)).warnings
    assert [one.key for one in warnings] == ["listener.trusted_authserv_ids"]
    both = _both(f"{alone}trusted_relays = ['192.0.2.1']")
    assert load_text(tmp_path, both).warnings == ()


STRANGERS = {
    "by default": ("", "", ["with DNS, which this machine's resolver"]),
    "with a resolver": ("resolvers = ['127.0.0.1']", "", ["which the resolvers of [listener]"]),
    "behind a server of this machine": (
        "listen = ['127.0.0.1:2525']",
        "",
        ["with DNS", "XFORWARD"],
    ),
    "behind one that is trusted": (
        "listen = ['127.0.0.1:2525']\ntrusted_relays = ['127.0.0.1']",
        "",
        ["with DNS"],
    ),
    "where all may write": ("", "accept_new = 'all'", []),
    "where all may write who sign": ("", "accept_new = 'all'\nrequire = 'dkim'", ["with DNS"]),
    "where only tokens count": ("", "accept_new = 'none'\nrequire = 'token'", []),
}


@pytest.mark.parametrize(("head", "mailbox", "words"), STRANGERS.values(), ids=STRANGERS.keys())
def test_who_judges_strangers_is_told_that_dns_must_answer(
    tmp_path: Path, head: str, mailbox: str, words: list[str]
) -> None:
    settings = load_text(tmp_path, _both(head, mailbox))
    told = [one for one in advice(settings) if "DNS" in one or "SPF" in one]
    assert len(told) == len(words)
    for one, word in zip(told, words, strict=True):
        assert word.lower() in one.lower()
