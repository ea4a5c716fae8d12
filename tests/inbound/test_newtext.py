"""What a person wrote now, told apart from what a mail program put around it; nothing of a text is ever lost."""

import re
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.inmail import RemovedWhy, TextConfidence
from postroom.inbound.newtext import NewText, find_new
from support.quoting import BANNERS, DEVICES, FORWARDS, MARKED, PROVING


GMAIL = "On Mon, 3 Jan 2022 at 10:00, Bob <bob@x.example> wrote:"
QUOTED = "> Is it resolved?\n> Yours\n"


def whys(new: NewText) -> list[RemovedWhy]:
    return [one.why for one in new.removed]


def test_answers_between_quoted_lines_are_all_new() -> None:
    new = find_new(
        "Hello,\n\nOn Monday, Bob wrote:\n> One?\n\nYes.\n\n> Two?\n\nNo.\n\n-- \nAlice\n"
    )
    assert new.text.split() == ["Hello,", "Yes.", "No."]
    assert new.confidence is TextConfidence.HIGH


def test_what_was_removed_has_its_reason() -> None:
    banner = BANNERS["in English"]
    text = f"{banner}\n\nYes.\n-- \nAlice\n\n{GMAIL}\n{QUOTED}"
    new = find_new(text)
    assert whys(new) == [RemovedWhy.BANNER, RemovedWhy.SIGNATURE, RemovedWhy.QUOTE]
    assert text[new.removed[1].start : new.removed[1].end].rstrip() == "-- \nAlice"
    assert new.text == "Yes.\n"


def test_a_header_with_nothing_above_it_hides_no_later_one() -> None:
    header = f"{GMAIL}\n\nYes.\n"
    new = find_new(f"{header}\n-----Original Message-----\nIs it?\n")
    assert new.text == header
    assert new.confidence is TextConfidence.LOW


DOUBTFUL = {
    "only quoted": QUOTED,
    "a quotation to begin with": f"{QUOTED}\nYes.\n",
    "a quotation below its header": f"{GMAIL}\n{QUOTED}",
    "a header with nothing above it": f"{GMAIL}\n\nIs it?\n",
    "a block with nothing above it": "From: Bob <bob@x.example>\nTo: a@y.example\nSubject: s\n\nIs it?\n",
    "only a signature": "-- \nAlice\n",
    "only a telephone": "Sent from my iPhone\n",
    "only a warning": f"{BANNERS['in English']}\n",
    "only a forward": f"{FORWARDS['Gmail']}\n\nIs it?\n",
    "signs around nothing": f"*\n\n{GMAIL}\n{QUOTED}",
}  # fmt: skip


@pytest.mark.parametrize("case", DOUBTFUL)
def test_where_nothing_would_remain_everything_is_new_and_doubtful(case: str) -> None:
    new = find_new(DOUBTFUL[case])
    assert new.text == DOUBTFUL[case]
    assert new.removed == ()
    assert new.confidence is TextConfidence.LOW


SHORT = {"a thumb": "\U0001f44d", "a heart": "\u2764\ufe0f", "a number": "3", "a question": "?", "a sum": "+1", "a letter": "k"}  # fmt: skip


@pytest.mark.parametrize("case", SHORT)
def test_an_answer_may_be_one_sign(case: str) -> None:
    new = find_new(f"{SHORT[case]}\n\n{GMAIL}\n\n{QUOTED}")
    assert new.text.strip() == SHORT[case]
    assert new.confidence is TextConfidence.HIGH


def test_next_to_nothing_above_a_doubtful_cut_is_no_answer() -> None:
    block = "From: Bob\nTo: Alice\nSubject: Your report\n\n"
    assert find_new(f"Yes.\n\n{block}Is it?\n").text == "Yes.\n"
    long = f"Yes.\n\n{block}{'It rains. ' * 50}\n"
    assert find_new(long).text == long
    assert find_new(long).confidence is TextConfidence.LOW


def test_little_above_a_certain_cut_is_the_answer() -> None:
    new = find_new(f"Yes.\n\n{PROVING['Outlook']}\n\n{'It rains. ' * 500}\n")
    assert new.text == "Yes.\n"
    assert new.confidence is TextConfidence.HIGH


SHARED = {
    "Gmail": "On Mon, 3 Jan 2022 at 10:00, Bob <bob@x.example> wrote:",
    "Yahoo": "--- On Mon, Jan 3, 2022 at 10:00 AM, bob@x.example wrote:",
    "in German": "Am 03.01.2022 um 10:00 schrieb Bob <bob@x.example>:",
    "in French": "Le lun. 3 janv. 2022 à 10:00, Bob <bob@x.example> a écrit :",
    "in Portuguese": "Em 3 de jan. de 2022 10:00, Bob <bob@x.example> escreveu:",
}


@pytest.mark.parametrize("case", SHARED)
def test_a_header_on_the_line_of_the_answer_is_taken_from_it(case: str) -> None:
    new = find_new(f"Hello,\n11 is best {SHARED[case]}\n> Is it?\n\nBye.\n")
    assert new.text.replace("--- ", "").split() == ["Hello,", "11", "is", "best", "Bye."]


def test_answers_that_may_stand_below_an_unmarked_header_make_it_doubtful() -> None:
    new = find_new(f"See below.\n\n{GMAIL}\n\nBob said:\n\n> Is it?\n\nYes.\n")
    assert new.text == "See below.\n"
    assert new.confidence is TextConfidence.LOW


def test_answers_below_marked_lines_stay_whatever_introduces_these() -> None:
    for header in PROVING.values():
        new = find_new(f"Hello.\n\n{header}\n\n> One?\n\nYes.\n\n> Two?\n\nNo.\n")
        assert new.text.split() == ["Hello.", "Yes.", "No."], header


def test_a_delimiter_in_quoted_lines_is_cut_with_its_header() -> None:
    new = find_new(
        f"Yes.\n\n{GMAIL}\n> > --- Reply above. Do not remove this line. ---\n> >\n> > Ticket 1 has been updated.\n"
    )
    assert new.text == "Yes.\n"


FOLLOWED = {
    "a signature above a quotation": f"Yes.\n\n-- \nAlice\nCustomer Ltd.\n\n{GMAIL}\n{QUOTED}",
    "a signature below a quotation": f"Yes.\n\n{GMAIL}\n{QUOTED}\n-- \nAlice\nCustomer Ltd.\n",
    "two dashes": "Yes.\n\n--\nAlice\n",
    "a dash and a name": "Yes.\n\n\u2014\nAlice\n",
    "a drawn line and a card": "Yes.\n\n_______________\nAlice Example\nCustomer Ltd.\nTel. +49 30 1234567\n",
    "a mailing list": "Yes.\n\n_______________________________________________\nThings mailing list\nthings@x.example\n",
    "a group": 'Yes.\n\n-- \nYou received this message because you are subscribed to the Google Groups "things" group.\n',
    "a telephone above a quotation": f"Yes.\n\nSent from my iPhone\n\n{GMAIL}\n{QUOTED}",
    "a telephone above its quotation alone": f"Sent from my iPhone\n\n> {GMAIL}\n>\n{QUOTED}\nYes.\n",
    "two telephones": "Yes.\n\nSent from my iPhone\nGet Outlook for iOS\n",
    "a telephone below a name": "Yes.\n\n--\nAlice\n\nSent from my iPhone\n",
    "a telephone and Outlook": f"Yes.\n\nGet Outlook for iOS<https://x.example/o>\n{PROVING['Outlook on the web']}\n\nIs it?\n",
    "a telephone above an answer": "Sent from my iPhone\n\nYes.\n",
    "a telephone above an answer, in German": "Gesendet mit iPhone\n\nYes.\n",
    "a telephone above a header that proves nothing": "Yes.\n\nSent from my iPhone\n\nbob@x.example wrote:\n\nIs it?\n",
    "a telephone far above a name": "Yes.\n\nSent from Samsung Mobile\n\n\n\n\nBob Example  wrote:\n\nIs it?\n",
    "a telephone above a name": "Yes.\nVerzonden vanuit Outlook voor iOS\n\nBob Example schreef:\n\nIs it?\n",
    "a mailing list below a short line": "Yes.\n\n__\nThings mailing list\nthings@x.example\n",
    "a virus scanner": "Yes.\n\nVirus-free. www.x.example <https://x.example/?utm=1>\n",
}  # fmt: skip


@pytest.mark.parametrize("case", FOLLOWED)
def test_signatures_are_not_new(case: str) -> None:
    new = find_new(FOLLOWED[case])
    assert new.text.strip() == "Yes."
    assert RemovedWhy.SIGNATURE in whys(new)


def test_a_long_text_below_two_dashes_stays() -> None:
    text = "Yes.\n--\n" + "And this, too, is what we think about it.\n" * 20
    assert find_new(text).text == text


def test_a_signature_that_may_be_more_is_doubtful() -> None:
    new = find_new("Yes.\n--\n" + "And this, too, is what we think about it.\n" * 8)
    assert new.text == "Yes.\n"
    assert new.confidence is TextConfidence.LOW


@pytest.mark.parametrize("line", DEVICES)
def test_the_last_line_of_a_telephone_is_no_answer(line: str) -> None:
    new = find_new(f"Yes, we will.\n\n{line}\n")
    assert new.text == "Yes, we will.\n"
    assert whys(new) == [RemovedWhy.SIGNATURE]
    assert new.confidence is TextConfidence.HIGH


@pytest.mark.parametrize("case", BANNERS)
@pytest.mark.parametrize("gap", ["\n", "\n\n", "\n\n\n"])
def test_a_warning_above_a_mail_is_not_new(case: str, gap: str) -> None:
    new = find_new(f"{BANNERS[case]}{gap}Yes, we will.\n")
    assert new.text == "Yes, we will.\n"
    assert whys(new) == [RemovedWhy.BANNER]
    assert new.confidence is TextConfidence.HIGH


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
