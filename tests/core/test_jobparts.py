"""What a job carries beside its text: the limits of each part, what is one more, and what the answer says."""

import pytest

from postroom.core.faults import Faults
from postroom.core.jobparts import read_attachments, read_headers, read_metadata


AT = "/attachments/0"


def attachment_faults(**asked: object) -> list[tuple[str, str]]:
    faults = Faults()
    read_attachments([{"path": "/srv/a", **asked}], faults)
    return [(one.pointer, one.detail) for one in faults.all()]


def header_faults(headers: dict[str, object]) -> list[tuple[str, str]]:
    faults = Faults()
    read_headers(headers, faults)
    return [(one.pointer, one.detail) for one in faults.all()]


@pytest.mark.parametrize(
    ("field", "longest"),
    [
        ("path", "/" + "p" * 4094),
        ("filename", "f" * 255),
        ("content_type", "text/" + "x" * 122),
        ("content_id", "i" * 200),
    ],
)
def test_a_text_may_have_so_many_characters_and_not_one_more(field: str, longest: str) -> None:
    assert attachment_faults(**{field: longest}) == []
    ((where, _),) = attachment_faults(**{field: longest + "x"})
    assert where == f"{AT}/{field}"


def test_all_headers_together_have_16_kib_and_not_one_byte_more() -> None:
    words = " ".join(["é" * 400] * 20)  # 800 bytes a word, 16,019 with the spaces between
    headers: dict[str, object] = {"X-A": words, "X-B": "y" * (16_384 - 16_019 - 6)}
    assert header_faults(headers) == []
    headers["X-B"] = f"{headers['X-B']}y"
    assert header_faults(headers) == [("/headers", "All headers together may have 16,384 bytes.")]


@pytest.mark.parametrize(
    ("name", "field"),
    [("Subject", "subject"), ("reply-to", "reply_to"), ("Auto-Submitted", "auto_submitted")],
)
def test_a_header_that_has_a_field_says_which(name: str, field: str) -> None:
    assert header_faults({name: "x"}) == [
        (f"/headers/{name}", f"Use the field {field} for this header.")
    ]


def test_one_long_word_among_others_is_refused_and_one_of_900_is_not() -> None:
    assert header_faults({"List-Help": "x" * 900 + " y"}) == []
    ((where, _),) = header_faults({"List-Help": "y " + "x" * 901})
    assert where == "/headers/List-Help"


def test_a_header_of_the_callers_own_may_be_one_word_of_any_length() -> None:
    assert header_faults({"x-a": "x" * (16_384 - 3)}) == []
    assert header_faults({"X-A": "é" * (8_192 - 2)}) == []


def test_half_a_character_in_a_header_is_refused_and_breaks_nothing() -> None:
    ((where, said),) = header_faults({"X-A": "a\ud800"})
    assert where == "/headers/X-A"
    assert "surrogate" in said


@pytest.mark.parametrize(
    ("asked", "where", "said"),
    [
        ({"ref": "att_1", "path": "/a"}, AT, "An attachment has a ref or a path, not both."),
        ({"ref": "att_1", "pin": True}, f"{AT}/pin", "Only a path can be pinned."),
        ({"ref": "a b"}, f"{AT}/ref", "This must be the ref of a staged upload."),
        ({"ref": "r" * 101}, f"{AT}/ref", "This must be the ref of a staged upload."),
        ({"path": "a"}, f"{AT}/path", "The path must be absolute."),
        ({"pin": True}, AT, "An attachment needs a ref or a path."),
        ({"path": "/a", "pin": 1}, f"{AT}/pin", "This must be true or false."),
        ({"path": "/a", "content_id": "<abc"}, f"{AT}/content_id", None),
        ({"path": "/a", "content_id": "abc>"}, f"{AT}/content_id", None),
        ({"path": "/a", "filename": " . "}, f"{AT}/filename", None),
        ({"path": "/a", "filename": "a\\b"}, f"{AT}/filename", None),
    ],
)
def test_what_is_wrong_with_an_attachment_is_said_where_it_is(
    asked: dict[str, object], where: str, said: str | None
) -> None:
    faults = Faults()
    read_attachments([asked], faults)
    ((found, detail),) = [(one.pointer, one.detail) for one in faults.all()]
    assert found == where
    assert said is None or detail == said


def test_a_ref_has_at_most_100_characters() -> None:
    faults = Faults()
    (found,) = read_attachments([{"ref": "r" * 100}], faults)
    assert faults.all() == ()
    assert found.inline is False


def test_metadata_keeps_its_order_and_its_lines() -> None:
    faults = Faults()
    given = {"b" * 64: "x" * 1_024, "a": "1\n2"}
    assert read_metadata(given, faults) == tuple(given.items())
    read_metadata({"": "x"}, faults)
    assert [one.pointer for one in faults.all()] == ["/metadata/"]
