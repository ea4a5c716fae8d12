"""What a person wrote now, told apart from what a mail program put around it."""

import pytest

from postroom.core.inmail import RemovedWhy, TextConfidence
from postroom.inbound.newtext import find_new
from support.quoting import BANNERS, DEVICES, FORWARDS, PROVING, whys


GMAIL = "On Mon, 3 Jan 2022 at 10:00, Bob <bob@x.example> wrote:"
QUOTED = "> Is it resolved?\n> Yours\n"


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
