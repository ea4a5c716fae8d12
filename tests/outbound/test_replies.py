"""A relay's bytes become replies, or are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.outbound.replies import KEPT_RAW, KEPT_TEXT, Malformed, ReplyReader, clean_text


def read(data: bytes) -> list[object]:
    return [
        "malformed" if isinstance(found, Malformed) else (found.code, found.enhanced, found.text)
        for found in ReplyReader().feed(data)
    ]


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        pytest.param(b"250 2.0.0 Ok\r\n", [(250, "2.0.0", "2.0.0 Ok")], id="one line"),
        pytest.param(b"250\r\n", [(250, None, "")], id="a code alone"),
        pytest.param(b"250 \r\n", [(250, None, "")], id="a code and a space"),
        pytest.param(b"250 ok\n", [(250, None, "ok")], id="a bare line feed"),
        pytest.param(
            b"550-5.1.1 no\r\n550 5.1.1 such user\r\n",
            [(550, "5.1.1", "5.1.1 no 5.1.1 such user")],
            id="several lines",
        ),
        pytest.param(b"250-a\r\n250-\r\n250 b\r\n", [(250, None, "a  b")], id="an empty text"),
        pytest.param(b"250-a\r\n250\r\n", [(250, None, "a")], id="the last line a code alone"),
        pytest.param(b"250 a\r\n354 b\r\n", [(250, None, "a"), (354, None, "b")], id="two replies"),
        pytest.param(b"250 5.1.1x\r\n", [(250, None, "5.1.1x")], id="no enhanced status"),
        pytest.param(b"250 5.1.1\r\n", [(250, "5.1.1", "5.1.1")], id="an enhanced status alone"),
        pytest.param(b"250-a\r\n550 b\r\n", ["malformed"], id="two codes"),
        pytest.param(b"25O ok\r\n", ["malformed"], id="a letter in the code"),
        pytest.param(b"\r\n", ["malformed"], id="an empty line"),
        pytest.param(b"250ok\r\n", ["malformed"], id="no space after the code"),
        pytest.param(b"2500 ok\r\n", ["malformed"], id="four digits"),
        pytest.param(b"100 ok\r\n", ["malformed"], id="a code below 200"),
        pytest.param(b"600 ok\r\n", ["malformed"], id="a code above 599"),
        pytest.param(b" 250 ok\r\n", ["malformed"], id="a space first"),
        pytest.param(b"250 " + b"x" * 9000 + b"\r\n", ["malformed"], id="a long line"),
        pytest.param(b"250 " + b"x" * 9000, ["malformed"], id="a line without end"),
        pytest.param(b"250-x\r\n" * 10_000, ["malformed"], id="a reply without end"),
        pytest.param(
            b"250 a\r\noops\r\n250 b\r\n", [(250, None, "a"), "malformed"], id="nothing after"
        ),
        pytest.param(b"250 \xe9\x00\x1b[2J\r\n", [(250, None, "\ufffd  [2J")], id="odd bytes"),
        pytest.param(
            "250 grüße\u2028\u202e\r\n".encode(), [(250, None, "grüße")], id="odd letters"
        ),
    ],
)
def test_bytes_become_replies(wire: bytes, expected: list[object]) -> None:
    assert read(wire) == expected


@given(
    st.lists(
        st.sampled_from(
            [b"250 ok\r\n", b"250-a\r\n250 b\r\n", b"550 5.1.1 no\n", b"354\r\n", b"x\r\n"]
        )
    ),
    st.lists(st.integers(1, 5), min_size=1),
)
def test_how_the_bytes_are_cut_makes_no_difference(replies: list[bytes], cuts: list[int]) -> None:
    wire = b"".join(replies)
    whole = ReplyReader().feed(wire)
    reader, pieces, at, turn = ReplyReader(), [], 0, 0
    while at < len(wire) and not (pieces and isinstance(pieces[-1], Malformed)):
        step = cuts[turn % len(cuts)]
        pieces += reader.feed(wire[at : at + step])
        at, turn = at + step, turn + 1
    assert pieces == whole


@given(st.binary())
def test_a_strangers_bytes_never_raise_and_leave_safe_text(data: bytes) -> None:
    for found in ReplyReader().feed(data + b"\r\n"):
        assert isinstance(found, Malformed) or found.text.isprintable()


@given(st.binary(max_size=6000))
def test_what_is_kept_of_a_reply_is_bounded_and_storable(data: bytes) -> None:
    text = data.replace(b"\n", b"")
    found = ReplyReader().feed(b"250-" + text + b"\r\n250 " + text + b"\r\n")[0]
    assert not isinstance(found, Malformed)
    assert len(found.text) <= KEPT_TEXT
    assert len(found.raw) <= KEPT_RAW
    found.text.encode("utf-8")


def test_a_text_is_cut_to_its_length_in_characters() -> None:
    assert clean_text("é".encode() * 2000, 1024) == "é" * 1024
