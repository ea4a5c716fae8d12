"""Forwards: the note above one is new, and the forward itself is told and stays whole."""

import pytest

from postroom.core.inmail import RemovedWhy, TextConfidence
from postroom.inbound.newtext import find_new
from support.quoting import FORWARDS, PROVING, whys


@pytest.mark.parametrize("case", FORWARDS)
def test_a_note_above_a_forward_is_new_and_the_forward_is_told(case: str) -> None:
    # Only the subject tells Outlook's forward from its reply.
    new = find_new(
        f"Please see below.\n\n{FORWARDS[case]}\n\nIs it?\n", is_forwarding="Outlook" in case
    )
    assert new.text == "Please see below.\n"
    assert whys(new) == [RemovedWhy.FORWARD]
    assert new.is_forward
    assert new.confidence is TextConfidence.HIGH


@pytest.mark.parametrize("case", FORWARDS)
def test_a_forward_in_a_page_stays_whole(case: str) -> None:
    text = f"Please see below.\n\n{FORWARDS[case]}\n\n> Is it?\n\n-- \nBob\n"
    new = find_new(text, is_page=True, is_forwarding="Outlook" in case)
    assert new.text == text
    assert new.removed == ()
    assert new.is_forward


FORWARDS_IN_MARKS = {
    "Apple Mail": "> Begin forwarded message:\n>\n> From: Bob Example <bob@x.example>\n> Subject: The report\n>\n> Is it?\n",
    "Apple Mail in Spanish": "> Inicio del mensaje reenviado:\n>\n> De: Bob Example <bob@x.example>\n> Asunto: El informe\n>\n> Is it?\n",
    "Thunderbird": "> -------- Weitergeleitete Nachricht --------\n> Betreff: Der Bericht\n> Von: Bob Example <bob@x.example>\n>\n> Is it?\n",
}  # fmt: skip


@pytest.mark.parametrize("case", FORWARDS_IN_MARKS)
def test_a_forward_whose_lines_are_marked_is_told(case: str) -> None:
    text = f"See below.\n\n{FORWARDS_IN_MARKS[case]}"
    plain = find_new(text)
    assert (plain.text, whys(plain), plain.is_forward) == (
        "See below.\n",
        [RemovedWhy.FORWARD],
        True,
    )
    page = find_new(text, is_page=True)
    assert (page.text, page.removed, page.is_forward) == (text, (), True)


def test_a_forward_inside_a_quotation_is_none() -> None:
    new = find_new(f"Yes.\n\n{PROVING['Outlook']}\n\n{FORWARDS['Gmail']}\n\nIs it?\n")
    assert new.text == "Yes.\n"
    assert not new.is_forward


def test_what_is_written_below_a_marked_forward_stays() -> None:
    new = find_new(
        "See:\n\nBegin forwarded message:\n\n> From: Bob\n> Subject: s\n>\n> Is it?\n\nIt is.\n"
    )
    assert new.text.split() == ["See:", "It", "is."]
    assert new.is_forward
