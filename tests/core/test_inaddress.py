"""Whose address it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.inaddress import (
    AddressBook,
    KeyLost,
    Ours,
    Unknown,
    reply_address,
    return_path,
)
from postroom.core.instant import SECOND, Instant
from postroom.core.mailbox import Mailbox
from postroom.core.token import Token, TokenKind, TokenStatus, make_key


NOW = Instant(1_796_040_000 * SECOND)
YEAR = 365 * 24 * 3600 * SECOND
KEY, OLD = make_key(b"k" * 32), make_key(b"o" * 32)


def box(name: str, reply: str | None = "r-{token}@reply.example.com") -> Mailbox:
    return Mailbox(
        name,
        f"{name}@example.com",
        "",
        "main",
        reply_address=reply,
        return_path="b-{token}@reply.example.com",
    )


SUPPORT, SALES = box("support"), box("sales")
TAGGED = box("tagged", "tagged+{token}@example.com")
BOXES = {one.id: one for one in (SUPPORT, SALES, TAGGED)}
BOOK = AddressBook(BOXES, ["reply.example.com", "example.com"], "support", [KEY, OLD])


def replies(mailbox: Mailbox, number: int = 7, key: object = KEY, until: int = YEAR) -> str:
    found = reply_address(mailbox, key, number, Instant(NOW + until))  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("address", "mailbox_id"),
    [
        ("support@example.com", "support"),
        ("SUPPORT@Example.COM", "support"),
        ("support+anything@example.com", "support"),
        ("tagged+news@example.com", "tagged"),
        ("postmaster@reply.example.com", "support"),
        ("Abuse@example.com", "support"),
        ("support+a+b@example.com", "support"),
    ],
)
def test_mailboxes_tags_and_roles_are_known(address: str, mailbox_id: str) -> None:
    assert BOOK.find(address, NOW) == Ours(mailbox_id, None)


@pytest.mark.parametrize(
    ("address", "is_foreign"),
    [
        ("nobody@example.com", False),
        ("nobody+r.abc@example.com", False),
        ("support@elsewhere.example", True),
        ("postmaster@elsewhere.example", True),
        ("r-short@reply.example.com", False),
        ("r-" + "a" * 29 + "@reply.example.com", False),
        ("r-" + "a" * 31 + "@reply.example.com", False),
        ("r-" + "1" * 29 + "@reply.example.com", False),
        ("support@x@example.com", False),
        ("nobody@EXAMPLE.com", False),
    ],
)
def test_everybody_else_is_unknown(address: str, *, is_foreign: bool) -> None:
    assert BOOK.find(address, NOW) == Unknown(is_foreign)


@pytest.mark.parametrize("mailbox", [SUPPORT, SALES, TAGGED], ids=lambda one: one.id)
@pytest.mark.parametrize("key", [KEY, OLD], ids=["new key", "old key"])
def test_a_token_says_whose_it_is_where_mailboxes_share_a_template(
    mailbox: Mailbox, key: object
) -> None:
    wanted = Token(TokenKind.REPLY, 7, TokenStatus.VALID, key.fingerprint)  # type: ignore[attr-defined]
    for address in (replies(mailbox, key=key), replies(mailbox, key=key).upper()):
        assert BOOK.find(address, NOW) == Ours(mailbox.id, wanted)


def test_kinds_are_never_taken_for_each_other() -> None:
    path = return_path(SUPPORT, KEY, 7, Instant(NOW + YEAR))
    assert path is not None
    found = BOOK.find(path, NOW)
    assert isinstance(found, Ours)
    assert found.token is not None
    assert found.token.kind is TokenKind.BOUNCE
    assert BOOK.find("r" + path[1:], NOW) == Unknown(is_foreign=False)
    assert BOOK.find("b" + replies(SUPPORT)[1:], NOW) == Unknown(is_foreign=False)


def test_an_expired_token_is_genuine_and_says_so() -> None:
    address = replies(SUPPORT, until=0)
    found = BOOK.find(address, Instant(NOW + YEAR))
    assert isinstance(found, Ours)
    assert found.token is not None
    assert found.token.status is TokenStatus.EXPIRED


def test_a_token_of_a_missing_key_is_not_refused_for_good() -> None:
    lost = AddressBook(BOXES, ["reply.example.com"], None, [KEY], frozenset({OLD.id}))
    assert lost.find(replies(SUPPORT, key=OLD), NOW) == KeyLost()
    assert lost.find(replies(SUPPORT), NOW) != KeyLost()


@given(st.integers(0, 28), st.sampled_from("abcdefghijklmnopqrstuvwxyz234567"))
def test_a_token_with_any_letter_changed_is_nobodys(at: int, letter: str) -> None:
    address = replies(SUPPORT)
    token = address[2:31]
    forged = token[:at] + letter + token[at + 1 :]
    found = BOOK.find(f"r-{forged}@reply.example.com", NOW)
    assert (found == Unknown(is_foreign=False)) is (forged != token)


@given(st.integers(0, (1 << 48) - 1), st.integers(0, 400))
def test_what_is_minted_is_read(number: int, days: int) -> None:
    address = replies(SALES, number, until=days * 24 * 3600 * SECOND)
    found = BOOK.find(address, NOW)
    assert isinstance(found, Ours)
    assert found.token is not None
    assert (found.mailbox_id, found.token.number) == ("sales", number)


@pytest.mark.parametrize(
    ("address", "is_own"),
    [
        ("Support@example.com", True),
        ("support+anything@example.com", True),
        ("support+a+b@example.com", True),
        (f"r-{'a' * 29}@reply.example.com", True),
        (f"B-{'A' * 29}@reply.example.com", True),
        ("r-short@reply.example.com", False),
        ("colleague@example.com", False),
        ("support@elsewhere.example", False),
    ],
)
def test_our_own_addresses_are_known_without_any_key(address: str, is_own: bool) -> None:  # noqa: FBT001
    assert AddressBook(BOXES, (), None, ()).is_own(address) is is_own


@pytest.mark.parametrize("role", ["postmaster", "Abuse"])
def test_who_is_postmaster_here_is_one_of_ours(role: str) -> None:
    assert BOOK.is_own(f"{role}@Reply.example.com")
    assert not BOOK.is_own(f"{role}@customer.example")


def test_a_template_may_go_on_behind_its_token_and_be_written_in_capitals() -> None:
    odd = Mailbox(
        "odd", "odd@example.com", "", "main", reply_address="R-{token}-X@Reply.Example.com"
    )
    book = AddressBook({"odd": odd}, (), None, [KEY])
    address = replies(odd)
    assert address.endswith("-X@Reply.Example.com")
    found = book.find(address, NOW)
    assert isinstance(found, Ours)
    assert found.token is not None
    for wrong in (address.replace("-X@", "@"), address.replace("-X@", "-Y@"), f"q{address[1:]}"):
        assert isinstance(book.find(wrong, NOW), Unknown)
        assert not book.is_own(wrong)
    elsewhere = address.replace("@Reply.", "@Other.")
    assert book.find(elsewhere, NOW) == Unknown(is_foreign=True)


def test_domains_of_settings_may_be_written_in_capitals() -> None:
    book = AddressBook({}, ["Example.COM"], None, ())
    assert book.find("nobody@example.com", NOW) == Unknown(is_foreign=False)
    assert book.find("postmaster@example.com", NOW) == Unknown(is_foreign=False)


def test_a_domain_of_a_mailbox_is_ours_though_no_mail_is_taken_for_all_of_it() -> None:
    book = AddressBook(BOXES, (), "support", ())
    assert book.find("nobody@example.com", NOW) == Unknown(is_foreign=False)
    assert book.find("postmaster@example.com", NOW) == Unknown(is_foreign=False)
    assert book.find("postmaster@other.example", NOW) == Unknown(is_foreign=True)


def test_tokens_are_found_in_headers_in_their_order() -> None:
    first, second = replies(SALES, 1), replies(SUPPORT, 2)
    found = BOOK.find_tokens(["a@x.example", first, "support@example.com", second], NOW)
    assert [(box_id, token.number) for box_id, token in found] == [("sales", 1), ("support", 2)]


def test_a_mailbox_without_templates_has_no_addresses_with_tokens() -> None:
    bare = Mailbox("bare", "bare@example.com", "", "main")
    assert reply_address(bare, KEY, 7, NOW) is None
    assert return_path(bare, KEY, 7, NOW) is None
    assert AddressBook({"bare": bare}, (), None, [KEY]).find("bare@example.com", NOW) == Ours(
        "bare", None
    )


def test_a_book_becomes_another_one_and_forgets_what_it_was() -> None:
    found = AddressBook(BOXES, ["reply.example.com"], "support", [KEY])
    empty = AddressBook({}, ["other.example"], None, ())
    found.become(empty)
    for box in BOXES.values():
        assert found.find(box.address, NOW) == Unknown(is_foreign=True)
    assert found.find("postmaster@reply.example.com", NOW) == Unknown(is_foreign=True)
    assert found.find("a@other.example", NOW) == Unknown(is_foreign=False)
