"""Any text at all: nothing of it is lost, what was written above a quotation is new, and work grows no faster than it."""

import re
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.inbound.newtext import find_new
from support.quoting import MARKED, PROVING


QUOTED = "> Is it resolved?\n> Yours\n"
LINES = st.sampled_from(
    ["", " ", "Yes.", "> a", ">", "> > b", "On Monday, Bob wrote:", "On 3 Jan 2022, Bob <b@x.example>", "wrote:", "-- ", "--", "---"]
    + ["From: a", "Sent: b", "To: c", "Subject: d", "-----Original Message-----", "_____", "Sent from my iPhone", "<", "> wrote:"]
    + ["---------- Forwarded message ---------", ":", "----", "\u2028", "\r", "2022-01-03 10:00 Bob <b@x.example>:", "[EXTERNAL]"]
    + [">>> a", ">>> b <<<", "Yes. On Mon, 3 Jan 2022 at 10:00, Bob <b@x.example> wrote:", "Bob wrote on 1/3/22 10:00:", "-------- Wab --------"]
    + ["CAUTION: external email, do not click", "Begin forwarded message:", ">From a", "reply above this line", "\u202b", "a@b:"]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(),
    st.lists(LINES).map("\n".join),
    st.lists(st.one_of(LINES, st.text())).map("\n".join),
)


@given(TEXTS, st.sampled_from([{}, {"is_page": True}, {"is_forwarding": True}]))
def test_new_text_and_removed_ranges_are_the_text(text: str, how: dict[str, bool]) -> None:
    new = find_new(text, **how)
    at = 0
    kept = []
    for one in new.removed:
        assert at <= one.start < one.end <= len(text)
        kept.append(text[at : one.start])
        at = one.end
    assert "".join([*kept, text[at:]]) == new.text
    assert bool(new.text.strip()) == bool(text.strip())


OWN = st.lists(
    st.text("abcdefghijklmnopqrstuvwxyzäöü ,.?!", min_size=1, max_size=60).filter(str.strip),
    min_size=1,
    max_size=6,
).filter(lambda lines: re.search(r"\w", "".join(lines)) is not None)  # without a letter, all is new


@given(
    OWN,
    st.sampled_from([*MARKED.values(), *PROVING.values()]),
    st.sampled_from(["\n", "\n\n"]),
    st.sampled_from(["", "\nSent from my iPhone\n", "\n-- \nAlice\n"]),
)
def test_what_a_person_wrote_above_a_quotation_is_all_in_it_and_nothing_else(
    own: list[str], header: str, gap: str, signature: str
) -> None:
    written = "\n".join(own)
    new = find_new(f"{written}\n{signature}{gap}{header}\n{gap}{QUOTED}")
    assert new.text.split() == written.split()


@given(OWN, st.sampled_from([*PROVING.values()]), st.sampled_from(["\n", "\n\n"]))
def test_what_a_person_wrote_above_an_unmarked_quotation_is_all_in_it_and_nothing_else(
    own: list[str], header: str, gap: str
) -> None:
    written = "\n".join(own)
    new = find_new(f"{written}\n{gap}{header}\n{gap}Is it resolved?\n\nYours\n")
    assert new.text.split() == written.split()


HOSTILE = {
    "empty lines": "\n", "quotes": ">\n", "quotes in a line": "> ", "colons": "a:\n", "numbers": "1:\n", "verbs": "wrote ",
    "On a": "On a ", "On a in lines": "On a a a\n", "From": "From: x\n", "labels": "From:\n", "labels apart": "From: a\n\n\n",
    "blanks": " ", "dashes": "-", "dashes in lines": "-\n", "signatures": "--\n", "signatures in lines": "-- \n",
    "headers between quotes": "> a\nwrote:\n", "long originals": "-----Original Message" + " " * 300 + "\n",
    "originals": "-----Original Message-----\n", "angles": "<\n", "an angle": "<", "addresses": "a@b:\n",
    "headers without end": "On 3 Jan 2022 10:00 x <a@b>\n", "headers half open": "On 3 Jan 2022 10:00 x <a@b wrote:\n",
    "telephones": "\n> a\n\nSent from my iPhone\n\n", "warnings": "CAUTION: external email, click\n", "rules": "_____\n",
    "prompts": ">>> a\n", "captions": "---- a ----\nFrom: a\n", "telephones above colons": "Sent from my iPhone\na wrote:\n",
    "headers on a line": "a On 2022 " * 40 + "10:00:\n> a\n", "headers without a colon": "On 3 Jan 2022 10:00 a <a@b> wrote\n\n",
    "forwards in marks": "> Begin forwarded message:\n\n", "names first": "a wrote on 1/3/22 b" * 15 + ":\n", "arrows": "> a <\n", "dashes and words": "----- a " * 20 + "\nFrom: a@b\nTo: b\nSubject: c\n",
    "dates": "1.1.11 " * 60 + ":\n", "words": "3 abcdefghij " * 38 + ":\n", "one line of labels": "From: a b: " * 90 + "\n",
    "closings": "<a\n> wrote:\n", "delimiters": "reply above this line\n", "mboxes": ">From x\n", "mailtos": "mailto:\n\n",
}  # fmt: skip


def work(text: str) -> int:
    """How many lines of Python are executed to read the text: what a clock would say on a quiet machine."""
    count = 0

    def look(_frame: object, event: str, _argument: object) -> object:
        nonlocal count
        count += event == "line"
        return look

    before = sys.gettrace()
    sys.settrace(look)  # type: ignore[arg-type]
    try:
        find_new(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("case", HOSTILE)
def test_work_grows_no_faster_than_the_text(case: str) -> None:
    unit = HOSTILE[case]
    works = [work(unit * (size // len(unit) + 1)) for size in (3_000, 6_000, 12_000)]
    for less, more in pairwise(works):
        assert more <= 2.5 * less + 500
