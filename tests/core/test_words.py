"""What text may hold, and how wrong text is named without being repeated."""

import pytest

from postroom.core.words import find_body_fault, find_line_fault, pointer, shown


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("plain", None),
        ("Grüße \u202e\u200b\xa0\ue000\uffff", None),
        ("\ud7ff", None),
        ("a\nb", "holds a line end (U+000A)"),
        ("a\rb", "holds a line end (U+000D)"),
        ("a\x0bb", "holds a line end (U+000B)"),
        ("a\x0cb", "holds a line end (U+000C)"),
        ("a\x85b", "holds a line end (U+0085)"),
        ("a\u2028b", "holds a line end (U+2028)"),
        ("a\u2029b", "holds a line end (U+2029)"),
        ("a\0b", "holds a control character (U+0000)"),
        ("a\tb", "holds a control character (U+0009)"),
        ("a\x1fb", "holds a control character (U+001F)"),
        ("a\x7fb", "holds a control character (U+007F)"),
        ("ä\x9fb", "holds a control character (U+009F)"),
        ("a\ud800b", "holds half of a surrogate pair"),
        ("\udfff", "holds half of a surrogate pair"),
    ],
)
def test_a_line_holds_no_control_characters(text: str, fault: str | None) -> None:
    assert find_line_fault(text) == fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a\r\n\t\x0c\x1b\u2028", None),
        ("a\0", "holds a control character (U+0000)"),
        ("ä\0", "holds a control character (U+0000)"),
        ("\udc00", "holds half of a surrogate pair"),
    ],
)
def test_a_body_holds_all_but_nul_and_halves_of_characters(text: str, fault: str | None) -> None:
    assert find_body_fault(text) == fault


def test_eighty_characters_are_shown_and_of_more_the_first() -> None:
    assert shown("x" * 80) == "x" * 80
    assert shown("x" * 81) == "x" * 79 + "…"
    assert shown("abcd", 3) == "ab…"
    assert shown("a\r\n\ud800\u2028b") == "a????b"


def test_a_pointer_escapes_what_means_something_in_it() -> None:
    assert pointer("a/b", "~c", 3, "d\n") == "/a~1b/~0c/3/d?"
    assert pointer() == ""
