"""Where lines end: each limit of the encodings, and one character more."""

import pytest

from postroom.core.encodings import (
    address_header,
    base64_size,
    encode_base64,
    encode_text,
    encoded_words,
    parameter,
    text_header,
)


ADDRESS = "ann@one.example"


def test_a_header_of_78_characters_stays_on_its_line_and_one_of_79_is_folded() -> None:
    value = "a " * 34 + "b"
    assert text_header("Subject", value) == f"Subject: {value}\r\n".encode()
    assert text_header("Subject", f"{value}b") == f"Subject: {value[:-2]}\r\n bb\r\n".encode()


def test_a_word_of_900_characters_stays_as_it_is_and_a_longer_one_is_encoded() -> None:
    longest = "x" * 900
    assert text_header("Subject", f"a {longest}") == f"Subject: a\r\n {longest}\r\n".encode()
    assert text_header("Subject", f"a {longest}x").startswith(b"Subject: =?utf-8?q?a_")


def test_a_text_goes_as_it_is_where_both_ways_are_as_long() -> None:
    text = "é" + "a" * 4  # 11 octets quoted, 8 in all, which base64 makes 14 of
    assert encode_text(text)[0] == "quoted-printable"
    assert len(encode_text("ééé")[1]) == 14
    assert encode_text("ééé")[0] == "base64"


def test_a_line_of_base64_has_76_characters() -> None:
    assert encode_base64(b"x" * 58).split(b"\r\n")[0] == b"eHh4" * 19
    assert [base64_size(octets) for octets in (0, 1, 57, 58)] == [0, 6, 78, 84]


def test_encoded_words_in_base64_hold_45_octets_and_the_first_what_is_left_to_it() -> None:
    first, second, rest = encoded_words("日" * 30, len("Subject: ")).split("\r\n ")
    assert first == f"=?utf-8?b?{'5pel' * 13}?="
    assert second == f"=?utf-8?b?{'5pel' * 15}?="
    assert rest == f"=?utf-8?b?{'5pel' * 2}?="
    assert [len(one) for one in (first, second)] == [64, 72]


def test_encoded_words_in_q_hold_63_characters_and_the_first_what_is_left_to_it() -> None:
    first, second = encoded_words("a" * 53 + "é" + "a" * 57, len("Subject: ")).split("\r\n ")
    assert first == f"=?utf-8?q?{'a' * 53}?="
    assert second == f"=?utf-8?q?=C3=A9{'a' * 57}?="
    assert len(second) == 75


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("x" * 60, f';\r\n filename="{"x" * 60}"'),
        ("x" * 61, f";\r\n filename*0*=utf-8''{'x' * 53};\r\n filename*1*={'x' * 8}"),
        ("é" + "x" * 47, f";\r\n filename*=utf-8''%C3%A9{'x' * 47}"),
        (
            "é" + "x" * 48,
            f";\r\n filename*0*=utf-8''%C3%A9{'x' * 47};\r\n filename*1*=x",
        ),
        (
            "x" * 51 + "é",
            f";\r\n filename*0*=utf-8''{'x' * 51};\r\n filename*1*=%C3%A9",
        ),
        (
            "x" * 52 + "é",
            f";\r\n filename*0*=utf-8''{'x' * 52};\r\n filename*1*=%C3%A9",
        ),
        (
            "x" * 50 + "é",
            f";\r\n filename*0*=utf-8''{'x' * 50}%C3;\r\n filename*1*=%A9",
        ),
        ("a  b", ";\r\n filename*=utf-8''a%20%20b"),
        ("!#$&+^`{|}~ä", ";\r\n filename*=utf-8''!#$&+^`{|}~%C3%A4"),
    ],
)
def test_a_parameter_has_sixty_characters_a_line_and_tears_no_escape(
    value: str, written: str
) -> None:
    assert parameter("filename", value) == written


def test_a_name_of_63_characters_is_written_out_and_a_longer_one_is_encoded() -> None:
    name = "n" * 63
    assert address_header("To", [(name, ADDRESS)]) == f"To: {name}\r\n <{ADDRESS}>\r\n".encode()
    assert address_header("To", [(f"{name}n", ADDRESS)]).startswith(b"To: =?utf-8?q?nnn")


def test_an_address_stands_beside_its_name_where_the_line_has_room() -> None:
    for length, gap in ((58, " "), (59, "\r\n ")):
        name = "n" * length
        assert address_header("Cc", [(name, ADDRESS)]) == f"Cc: {name}{gap}<{ADDRESS}>\r\n".encode()


@pytest.mark.parametrize(
    ("letters", "last"),
    [
        (20, " =?utf-8?b?w6k=?= <ann@one.example>, B <b@two.example>"),
        (30, " B <b@two.example>"),
    ],
)
def test_what_follows_an_encoded_name_is_measured_from_its_last_line(
    letters: int, last: str
) -> None:
    parties = [("é" * letters, ADDRESS), ("B", "b@two.example")]
    lines = address_header("To", parties).decode().split("\r\n")
    assert lines[-2] == last
    assert all(len(line) <= 78 for line in lines)
