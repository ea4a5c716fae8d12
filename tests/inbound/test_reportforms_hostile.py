"""No words of a report stop its reader, or the library that it asks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.inbound.fluflbounce import READ_MOST, find_failed
from support.mails import DIRECTORY, read


A = "a@x.example"
PIECES = [A, f"<{A}>", f"<{A}>:", "550 ", "5.1.1 ", "\n", " ", "\n\n", "Original message", "to: ", "mail ", "<", "@", "{", "[", "Final-Recipient: ", "sent by ", "expanded from", "failed", "\0", "é"]  # fmt: skip


@given(
    st.lists(st.sampled_from(PIECES), max_size=60).map("".join),
    st.sampled_from(["", "failed", "delayed", "Out of office"]),
)
def test_no_words_stop_the_reader(text: str, subject: str) -> None:
    parsed = read(f"From: MAILER-DAEMON@mx.example\nSubject: {subject}\n\n{text}", "", DIRECTORY)
    for one in parsed.report.recipients if parsed.report else ():
        assert len(one.recipient or "") <= 320
        assert len(one.diagnostic or "") <= 1000
        assert (one.diagnostic or "").isprintable() or "\u2028" not in (one.diagnostic or "")


HOSTILE = [",", "<", "@", "\n", " ", "a", "<a@b", "a@b ", "\n ", "-\n", "reply to <", ", a@b"]


@pytest.mark.parametrize("piece", HOSTILE, ids=[repr(one) for one in HOSTILE])
def test_the_library_sees_only_lines_in_which_it_can_not_get_lost(piece: str) -> None:
    """The suite's time limit is the bound: without the filter one such mail takes it whole."""
    text = "This Message was undeliverable due to the following reason:\ntranscript of session follows\n"
    raw = f"Subject: x\n\n{text}{piece * (100 * READ_MOST // len(piece))}".encode()
    assert find_failed(raw) == ((), ())
