"""What a relay calls a message, out of the free text of its answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.relayid import relay_message_id
from postroom.core.reply import SmtpReply


def said(text: str) -> SmtpReply:
    return SmtpReply(250, None, text, text.encode())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("2.0.0 Ok: queued as 4Qx8Zr2Lm1z9sVd", "4Qx8Zr2Lm1z9sVd"),
        ("2.0.0 queued as 1-2", "1-2"),
        ("OK id=1tHk2e-0001aB-Cd", "1tHk2e-0001aB-Cd"),
        ("2.0.0 OK  1764572400 d24-20020a05 - gsmtp", "d24-20020a05"),
        ("2.0.0 OK 1764572400 xyz-gsmtp", "xyz"),
        (
            "Ok 010f0193b2c4d5e6-7f8a9b0c-1111-2222-3333-444455556666-000000",
            "010f0193b2c4d5e6-7f8a9b0c-1111-2222-3333-444455556666-000000",
        ),
        (
            "2.6.0 <m@example.com> [InternalId=123456789, Hostname=x.example] Queued mail for delivery",
            "123456789",
        ),
        ("Message accepted for delivery", None),
        ("2.0.0 Ok", None),
        ("", None),
    ],
    ids=[
        "Postfix",
        "short",
        "Exim",
        "Gmail",
        "Gmail, joined",
        "SES",
        "Exchange",
        "no name",
        "bare",
        "empty",
    ],
)
def test_the_relays_own_name_is_read(text: str, name: str | None) -> None:
    assert relay_message_id(said(text)) == name


def test_no_answer_has_no_name() -> None:
    assert relay_message_id(None) is None


@given(st.text(max_size=1024))
def test_any_text_is_read_without_fault_and_bounded(text: str) -> None:
    found = relay_message_id(said(text))
    assert found is None or (0 < len(found) <= 255 and found in text)


def test_a_name_ends_before_its_full_stop_and_after_255_characters() -> None:
    assert relay_message_id(said("2.0.0 Ok: queued as .4Xy.Z.")) == ".4Xy.Z"
    assert relay_message_id(said("2.0.0 Ok: queued as " + "x" * 255)) == "x" * 255
    assert relay_message_id(said("2.0.0 Ok: queued as " + "x" * 300)) == "x" * 255
