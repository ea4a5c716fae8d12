"""What a report's words, status and code come to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.bounceplain import WORDS_MOST, find_reason, plain_words
from postroom.core.bounceread import Said, make_sense
from postroom.core.bouncereason import (
    ADDRESS_REASONS,
    MEANINGS,
    PUBLISHED,
    BounceClass,
    BounceReason,
    Sense,
)
from postroom.core.bouncewords import LAST, NOBODY, OURS, PEER, THEIRS, Phrases


_C = BounceClass
_R = BounceReason

# Action, status, code and words; the class, the reason, and whether the address is no good.
SAID = {
    "B01 unknown": (("failed", "5.2.1", 550, "550 5.2.1 <a@x.example>... User unknown (in reply to RCPT TO)"), _C.PERMANENT, _R.RECIPIENT_UNKNOWN, True),
    "B01 full": (("failed", "5.2.2", 550, "550 5.2.2 <b@x.example>... Mailbox full"), _C.TEMPORARY, _R.RECIPIENT_MAILBOX_FULL, False),
    "B02 no reply of SMTP": (("failed", "5.1.1", None, 'X-Postfix; unknown user: "a"'), _C.PERMANENT, _R.RECIPIENT_UNKNOWN, True),
    "B04 gave up": (("failed", "4.4.3", None, "directory server is down; I'm not going to try again"), _C.TEMPORARY, _R.DOMAIN_TROUBLE, False),
    "B05 no domain": (("failed", "4.0.0", None, "DNS Error: lookup of x.example responded with code NXDOMAIN"), _C.TEMPORARY, _R.DOMAIN_UNKNOWN, True),
    "B08 delayed": (("delayed", "4.4.1", 421, "421 please try later"), _C.DELAYED, _R.DOMAIN_TROUBLE, False),
    "B10 delayed, whatever it says": (("delayed", "5.0.0", 550, "550 user unknown"), _C.DELAYED, _R.RECIPIENT_REFUSED, False),
    "B11 failed with 4yz": (("failed", "4.2.2", 452, "452 4.2.2 over quota"), _C.TEMPORARY, _R.RECIPIENT_MAILBOX_FULL, False),
    "B11 failed, unknown for days": (("failed", "4.1.1", 450, "450 4.1.1 user unknown"), _C.TEMPORARY, _R.RECIPIENT_UNKNOWN, True),
    "B16 our address": (("failed", "5.7.606", 550, "550 5.7.606 Access denied, banned sending IP [192.0.2.1]"), _C.PERMANENT, _R.SENDER_REFUSED, False),
    "B16 our rate": (("failed", "5.0.0", 550, "550 Ip frequency limited"), _C.TEMPORARY, _R.RATE_LIMITED, False),
    "B16 our authentication": (("failed", "5.7.26", 550, "550-5.7.26 Unauthenticated email from y.example"), _C.PERMANENT, _R.SENDER_UNAUTHENTICATED, False),
    "B17 disabled": (("failed", "5.2.1", 550, "550 5.2.1 The account is inactive"), _C.TEMPORARY, _R.RECIPIENT_DISABLED, False),
    "B19 nobody knows": (("failed", "5.0.0", None, "General failure"), _C.PERMANENT, _R.UNKNOWN, False),
    "a bare 550 may be a filter's": (("failed", None, 550, "550 <a@x.example>: User unknown"), _C.PERMANENT, _R.RECIPIENT_REFUSED, False),
    "a bare 550 in its own words": (("failed", "5.0.0", 550, "550 There is no person of that name in this house"), _C.PERMANENT, _R.RECIPIENT_UNKNOWN, True),
    "a bare 550 that says where it looked": (("failed", "5.0.0", 550, "smtp; 550 No such user here"), _C.PERMANENT, _R.RECIPIENT_UNKNOWN, True),
    "a bare 550 in a filter's own words": (("failed", "5.0.0", 550, "smtp; 550 No such user"), _C.PERMANENT, _R.RECIPIENT_REFUSED, False),
    "a bare 550 that is unavailable": (("failed", "5.0.0", 550, "550 mailbox is not available"), _C.PERMANENT, _R.RECIPIENT_REFUSED, False),
    "the word of another host around it": (("failed", "5.0.0", 550, "550 points: 12.8", "Undeliverable\nuser is not known"), _C.PERMANENT, _R.RECIPIENT_REFUSED, False),
    "a bare 550 to RCPT is not": (("failed", None, 550, "550 User unknown (in reply to RCPT TO command)"), _C.PERMANENT, _R.RECIPIENT_UNKNOWN, True),
    "unknown after the content": (("failed", "5.0.0", 550, "550 Unknown user (in reply to end of DATA command)"), _C.PERMANENT, _R.RECIPIENT_REFUSED, False),
    "unknown at MAIL is the sender": (("failed", None, 550, "after MAIL FROM:<a@y.example>: 550 No such user"), _C.PERMANENT, _R.SENDER_REFUSED, False),
    "disabled at MAIL is the sender": (("failed", "5.0.0", 550, "550 this account is disabled (in reply to MAIL FROM command)"), _C.PERMANENT, _R.SENDER_REFUSED, False),
    "put off at once": (("failed", "4.0.0", 421, "421 come back in a while", "after initial connection: 421 come back in a while"), _C.TEMPORARY, _R.DOMAIN_TROUBLE, False),
    "nobody is unknown at once": (("failed", "5.0.0", 550, "550 user unknown", "SMTP error after initial connection: 550 user unknown"), _C.PERMANENT, _R.SENDER_REFUSED, False),
    "refused with our address, no word on why": (("failed", "5.0.0", 553, "553 a rule of the house holds for [192.0.2.1]"), _C.PERMANENT, _R.SENDER_REFUSED, False),
    "refused without our address": (("failed", "5.0.0", 553, "553 a rule of the house holds"), _C.PERMANENT, _R.UNKNOWN, False),
    "no such host, by its name server": (("failed", "5.1.2", 550, "550 5.1.2 <a@x.example>... Host unknown (Name server: x.example: host not found)"), _C.PERMANENT, _R.DOMAIN_UNKNOWN, True),
    "a name server that is away": (("delayed", "4.1.2", 451, "451 4.1.2 <a@x.example>... (Name server: x.example: host name lookup failure)"), _C.DELAYED, _R.DOMAIN_TROUBLE, False),
    "the domain or the user, Exim does not say": (("failed", None, 550, "550 Unrouteable address"), _C.PERMANENT, _R.DOMAIN_UNKNOWN, True),
    "put off for ever, no word on why": (("failed", "4.0.0", 452, "452 Hm"), _C.TEMPORARY, _R.DOMAIN_TROUBLE, False),
    "a status of no registry": (("failed", "5.7.999", 550, "550 5.7.999 no"), _C.PERMANENT, _R.MESSAGE_REFUSED, False),
    "one that is put off": (("failed", "4.7.999", 450, "450 4.7.999 no"), _C.TEMPORARY, _R.DOMAIN_TROUBLE, False),
    "refused at once": (("failed", None, 554, "refused to talk to me: 554 Go away"), _C.PERMANENT, _R.SENDER_REFUSED, False),
    "a domain of ours": (("failed", "5.1.8", 553, "553 5.1.8 <a@y.example>... Domain of sender address a@y.example does not exist"), _C.PERMANENT, _R.SENDER_REFUSED, False),
    "a host by name": (("failed", None, 553, "553 x.example does not exist"), _C.PERMANENT, _R.DOMAIN_UNKNOWN, True),
    "relaying": (("failed", "5.7.1", 554, "554 5.7.1 <a@x.example>: Relay access denied"), _C.PERMANENT, _R.RELAYING_DENIED, False),
    "as relays say it": (("failed", None, 550, "550 sending quota exhausted"), _C.TEMPORARY, _R.RATE_LIMITED, False),
    "the status, where words say nothing": (("failed", "5.7.1", 550, "550 5.7.1 no"), _C.PERMANENT, _R.MESSAGE_REFUSED, False),
    "a word in an address": (("failed", "5.1.1", 550, "550 5.1.1 <spam@x.example>: unknown"), _C.PERMANENT, _R.RECIPIENT_UNKNOWN, True),
    "a word in another": (("failed", "5.5.0", 550, "550 5.5.0 the recipient's account is blocked"), _C.TEMPORARY, _R.RECIPIENT_DISABLED, False),
    "closing": (("failed", None, 421, "421"), _C.TEMPORARY, _R.DOMAIN_TROUBLE, False),
    "delivered": (("delivered", "2.0.0", 250, "250 ok"), _C.NONE, _R.DELIVERED, False),
    "relayed": (("relayed", None, None, ""), _C.NONE, _R.DELIVERED, False),
    "an action of its own, 2yz": (("deliverable", "2.1.5", None, ""), _C.NONE, _R.DELIVERED, False),
    "an action of its own, 4yz": (("expired", "4.4.7", None, ""), _C.DELAYED, _R.DOMAIN_TROUBLE, False),
    "complained": (("complained", None, None, "abuse"), _C.COMPLAINT, _R.FEEDBACK, False),
    "feedback that is none": (("feedback", None, None, "auth-failure"), _C.NONE, _R.FEEDBACK, False),
    "away": (("auto-replied", None, None, "back on Monday"), _C.AUTO_REPLY, _R.AUTO_REPLY, False),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID)
def test_what_is_said_of_a_recipient_comes_to_a_class_and_a_reason(case: str) -> None:
    said, class_, reason, is_hard = SAID[case]
    sense = make_sense(Said(*said))
    assert (sense.class_, sense.reason, sense.is_hard) == (class_, reason, is_hard)


LANGUAGES = {
    "de": ("Das Postfach ist voll", _R.RECIPIENT_MAILBOX_FULL),
    "fr": ("Adresse du destinataire invalide", _R.RECIPIENT_UNKNOWN),
    "es": ("el usuario no existe", _R.RECIPIENT_UNKNOWN),
    "it": ("utente sconosciuto", _R.RECIPIENT_UNKNOWN),
    "pt": ("a caixa postal está cheia", _R.RECIPIENT_MAILBOX_FULL),
    "ru": ("пользователь не найден", _R.RECIPIENT_UNKNOWN),
    "ja": ("ディレクトリのリストにありません", _R.RECIPIENT_UNKNOWN),
    "zh": ("收件人不存在", _R.RECIPIENT_UNKNOWN),
    "ko": ("존재하지 않는 사용자", _R.RECIPIENT_UNKNOWN),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_reasons_are_told_in_many_languages(language: str) -> None:
    words, reason = LANGUAGES[language]
    assert find_reason(plain_words(words)) is reason


def test_the_words_around_are_asked_where_the_answer_says_nothing() -> None:
    said = Said("failed", "5.0.0", 550, "550 Rejected", "we could not deliver it to a")
    assert make_sense(said).reason is _R.UNKNOWN
    said = Said("failed", "5.0.0", 550, "550 Rejected", "a's mailbox is full")
    assert make_sense(said).reason is _R.RECIPIENT_MAILBOX_FULL


def test_only_an_unknown_recipient_and_a_complaint_end_an_address() -> None:
    ends = {(class_, reason): Sense(class_, reason).suppression for class_ in _C for reason in _R}
    assert {key: word for key, word in ends.items() if word} == {
        (_C.PERMANENT, _R.RECIPIENT_UNKNOWN): "recipient.unknown",
        **{(_C.COMPLAINT, reason): "complaint" for reason in _R},
    }


def test_every_reason_is_explained_and_has_one_of_the_published_ones() -> None:
    assert set(MEANINGS) == set(_R)
    assert set(PUBLISHED.values()) == set(_R)
    assert len(PUBLISHED) == 34
    assert set(_R) > ADDRESS_REASONS


def test_every_row_of_the_table_can_be_reached() -> None:
    rows = (*OURS, *THEIRS, *NOBODY, *PEER, *LAST)
    assert len({row.id for row in rows}) == len(rows)
    ways = [way for row in rows for way in row.ways]
    assert len(set(ways)) == len(ways)
    assert all(part == part.lower() for way in ways for part in way)
    for group in (OURS, THEIRS, NOBODY, PEER, LAST):
        ways = [way for row in group for way in row.ways]
        for at, way in enumerate(ways):
            hidden = [one for one in (*ways[:at], *_beside(group, way)) if _is_in(one, way)]
            assert hidden == [], f"{way} is never looked at: {hidden} holds wherever it does"


def _beside(rows: tuple[Phrases, ...], way: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The other ways of its row."""
    return [one for row in rows if way in row.ways for one in row.ways if one != way]


def _is_in(one: tuple[str, ...], way: tuple[str, ...]) -> bool:
    return all(any(part in whole for whole in way) for part in one)


@given(st.text(max_size=200), st.text(max_size=200), st.sampled_from(["failed", "delayed", None]))
def test_whatever_is_said_comes_to_something(text: str, around: str, action: str | None) -> None:
    assert isinstance(make_sense(Said(action, None, None, text, around)), Sense)
    assert len(plain_words(text * 50)) <= WORDS_MOST * 4
