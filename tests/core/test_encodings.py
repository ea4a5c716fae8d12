"""Headers and bodies as 7-bit lines."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.encodings import (
    address_header,
    base64_size,
    encode_base64,
    encode_text,
    encoded_words,
    parameter,
    text_header,
)


@given(st.binary(max_size=2_000))
def test_base64_has_the_size_that_is_told(content: bytes) -> None:
    found = encode_base64(content)
    assert len(found) == base64_size(len(content))
    assert found == base64.encodebytes(content).replace(b"\n", b"\r\n")


TEXTS = {
    "plain": ("a\nb\n", ("quoted-printable", b"a\r\nb\r\n")),
    "no end": ("a", ("quoted-printable", b"a\r\n")),
    "nothing": ("", ("quoted-printable", b"\r\n")),
    "all line ends": ("a\rb\r\nc\n", ("quoted-printable", b"a\r\nb\r\nc\r\n")),
    "a space at the end": ("a \n", ("quoted-printable", b"a=20\r\n")),
    "a few accents": ("Café au lait", ("quoted-printable", b"Caf=C3=A9 au lait\r\n")),
    "another script": (
        "Здравствуйте",
        ("base64", base64.b64encode("Здравствуйте\r\n".encode()) + b"\r\n"),
    ),
}


@pytest.mark.parametrize(("text", "encoded"), TEXTS.values(), ids=TEXTS)
def test_a_text_takes_the_shorter_encoding(text: str, encoded: tuple[str, bytes]) -> None:
    assert encode_text(text) == encoded


HEADERS = {
    "plain": ("Your report", b"Subject: Your report\r\n"),
    "empty": ("", b"Subject: \r\n"),
    "accents": ("Café", b"Subject: =?utf-8?q?Caf=C3=A9?=\r\n"),
    "another script": ("日本", b"Subject: =?utf-8?b?5pel5pys?=\r\n"),
    "what looks encoded": ("=?utf-8?q?x?=", b"Subject: =?utf-8?b?PT91dGYtOD9xP3g/PQ==?=\r\n"),
    "a space in front": (" x", b"Subject: =?utf-8?q?_x?=\r\n"),
    "long": ("word " * 15 + "end", b"Subject:" + b" word" * 14 + b"\r\n word end\r\n"),
    "two spaces at a fold": ("a" * 68 + "  b", b"Subject: " + b"a" * 68 + b"\r\n  b\r\n"),
    "a word that does not fit": ("x" * 100 + " y", b"Subject: " + b"x" * 100 + b"\r\n y\r\n"),
}


@pytest.mark.parametrize(("value", "line"), HEADERS.values(), ids=HEADERS)
def test_a_text_header_is_written(value: str, line: bytes) -> None:
    assert text_header("Subject", value) == line


def test_a_word_over_a_line_is_encoded() -> None:
    lines = text_header("Subject", "x" * 1_000).split(b"\r\n")
    assert max(map(len, lines)) <= 76


NAMES = {
    "none": ("", b"To: ann@one.example\r\n"),
    "words": ("Ann Example", b"To: Ann Example <ann@one.example>\r\n"),
    "specials": ("Example, Ann (x)", b'To: "Example, Ann (x)" <ann@one.example>\r\n'),
    "quotes": ('A "B" \\ C', b'To: "A \\"B\\" \\\\ C" <ann@one.example>\r\n'),
    "a dot": ("Ann B. Example", b'To: "Ann B. Example" <ann@one.example>\r\n'),
    "accents": ("Jörg, A", b"To: =?utf-8?q?J=C3=B6rg=2C_A?= <ann@one.example>\r\n"),
}


@pytest.mark.parametrize(("name", "line"), NAMES.values(), ids=NAMES)
def test_a_display_name_is_written(name: str, line: bytes) -> None:
    assert address_header("To", [(name, "ann@one.example")]) == line


def test_many_addresses_are_folded_between_them() -> None:
    lines = address_header(
        "To", [("Ann Example", f"ann{n}@one.example") for n in range(100)]
    ).split(b"\r\n")
    assert max(map(len, lines)) <= 78
    assert all(line.startswith(b" ") for line in lines[1:-1])


@given(st.text("aé€😀 ", min_size=1, max_size=300), st.integers(0, 70))
def test_encoded_words_fit_their_lines(text: str, used: int) -> None:
    first, *rest = encoded_words(text, used).split("\r\n ")
    assert len(first) <= max(76 - used, 12 + 12)
    assert all(len(word) <= 75 for word in rest)


PARAMETERS = {
    "plain": ("a.pdf", ';\r\n filename="a.pdf"'),
    "quotes": ('a"b\\.pdf', ';\r\n filename="a\\"b\\\\.pdf"'),
    "accents": ("Umsätze Q3.xlsx", ";\r\n filename*=utf-8''Ums%C3%A4tze%20Q3.xlsx"),
    "long": ("x" * 70, ";\r\n filename*0*=utf-8''" + "x" * 53 + ";\r\n filename*1*=" + "x" * 17),
}


@pytest.mark.parametrize(("value", "written"), PARAMETERS.values(), ids=PARAMETERS)
def test_a_parameter_is_written(value: str, written: str) -> None:
    assert parameter("filename", value) == written


@given(st.text("é€😀a%", min_size=30, max_size=255))
def test_a_long_parameter_tears_no_escape(value: str) -> None:
    for line in parameter("filename", value).split(";\r\n ")[1:]:
        piece = line.partition("*=")[2]
        assert len(line) <= 76
        assert all(len(escape) >= 2 for escape in piece.split("%")[1:])
