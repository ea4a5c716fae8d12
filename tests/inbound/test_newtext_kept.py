"""What a person may have written stays, however much it looks like a mail program's (CASES D07, D08, D10, D11)."""

import pytest

from postroom.core.inmail import TextConfidence
from postroom.inbound.edges import is_device_line
from postroom.inbound.newtext import find_new


KEPT = {
    "D08 paragraphs that begin with On": "On Monday we met.\n\nOn Tuesday Bob wrote a letter.\n\nOn the whole: fine.\n",
    "D08 what somebody wrote": "On 3 January 2022 we wrote:\n\nplease send it.\n\nYou did not.\n",
    "D08 what you wrote, with a time": "On the 3rd of January, at 10:00, you wrote:\n\nplease send it\n\nYou did not.\n",
    "D08 what happened": "On Tuesday, 3 May 2022, the following happened:\n\n- it broke\n- it rained\n",
    "D08 whom I asked": "On 3 Jan 2022 at 10:00 I asked bob@x.example the following:\n\nIs it there?\n",
    "D08 whom we asked": "On 3 May 2022 we asked bob@x.example:\n\nis it there?\n\nIt is.\n",
    "D08 whom a sentence goes on about": "On 3 Jan 2022 10:00 Bob <bob@x.example> wrote\nthat it is late.\n",
    "a name that is no day, above what may be a header": "Yes.\nMarianne\nbob schrieb um 10:00 am 3. Mai:\n\nIs it?\n",
    "a line of a log": "It says:\n2022-05-03:0003F0bob@x.example:\n\nWhy?\n",
    "D08 when I wrote": "I wrote to you on 3 May 2022 at 10:00:\n\nno answer.\n",
    "D08 what I wrote in German": "Am 3. Mai 2022 um 10:00 schrieb ich:\n\nbitte senden.\n\nNichts kam.\n",
    "D08 what a machine said": "At 10:00 the machine said:\n\nerror 5\n",
    "D10 sent from in prose": "I had it sent from my iPhone to the printer in the office and it came out well, thanks a lot.\n",
    "D10 sent from at the end": "Is it true?\nSent from my point of view it is.\n",
    "D10 sent from a desk": "Hello\n\nSent from my desk, which is easier than my mobile phone.\n",
    "D10 sent yesterday": "It was\n\nsent from my iPhone yesterday, and from the iPad today.\n",
    "D10 what it means": "Sent from my iPhone means that I was in a hurry.\n",
    "D10 sent by mail": "How did you send it?\n\nSent by mail.\n",
    "D10 a wish": "Which one?\n\nGet the iPhone, please\n",
    "D10 in the middle": "Is it from here?\n\nSent from my iPhone\n\nThat is what I read there.\n",
    "D11 a sentence that ends in wrote": "Le paragraphe que vous avez écrit :\n\nest parfait.\n",
    "D11 not On": "One is not On.\n\nOnly this wrote:\n\nnothing.\n",
    "a sentence with a verb": "As my boss wrote:\n\nwe will come.\n",
    "a list with a colon": "From: here\n\nto there it is far.\n",
    "a subject": "Subject: the bill\n\nPlease pay.\n",
    "a drawn line between thoughts": "First option.\n\n---\n\nSecond option is better, take that one.\n",
    "a drawn line between lines": "One\n_____\nTwo is what we take\n",
    "a warning of one's own": "Warning: the link in the mail that you sent is broken.\n\nYours\n",
    "a warning to a person": "Attention: Bob\n\nPlease click the link.\n",
    "external things": "External sensors are broken. Please open a ticket.\n",
    "an external link": "Attention: the external link is broken, please click on it.\n\nYours\n",
    "a list of dashes": "We want:\n- one\n-- two\n- three\n",
    "an escaped From": "Hello\n\n>From tomorrow on we are closed.\n\nAlice\n",
    "code": "```\n# a comment\n```\n",
    "emphasis": "**Note:** this\n*From:* me\n",
    "a table": "a | b\n--|--\n1 | 2\n",
    "a table below an address": "Ask Bob <bob@x.example>\n| a | b |\n| c | d |\n",
    "bars": "Look:\n| one\n| two\n",
    "arrows": "-> one\n=> two\n",
    "a program at its prompt": "I tried:\n>>> import this\n>>> this.s\n'Gur'\n\nWhy?\n",
    "a prompt without a command": "I tried:\n\n>>> for x in y:\n...     print(x)\n>>>\nand nothing came.\n",
    "arrows around a line": "Visit us\n>>> >>> https://x.example <<<\nor call.\n",
    "an arrow around a word": "Look\n> here <\nand there.\n",
    "a section about lists": "First\n-----\nHow do I unsubscribe bob@x.example?\n\nSecond\n------\nIs there a mailing list? See https://x.example\n",
    "a section that wants to leave": "Please:\n\n====\nUnsubscribe me from all of it. I have asked for that twice.\n",
    "a footer of one's own": "Yes.\n\n__\nAlice\n",
    "what it says, drawn": "---- Trip ----\n\nWe go to Paris.\n",
    "a question about above": "Why do you say so above? I reply here.\n",
    "a greeting and a name": "Yes.\n\nBest regards,\nAlice Example\nCustomer Ltd.\n",
    "an empty text": "",
    "blanks": " \n\n",
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
def test_what_a_person_may_have_written_stays(case: str) -> None:
    new = find_new(KEPT[case])
    assert new.text == KEPT[case]
    assert new.removed == ()
    assert not new.is_forward
    assert new.confidence is TextConfidence.HIGH


LOOKS_QUOTED = {
    "two lines like a header": "Hello\nFrom: Berlin\nTo: Paris\nby train.\n",
    "three lines like a header": "Book this:\nFrom: Berlin\nTo: Paris\nDate: 3 May 10:00\n\nThanks\n",
    "D11 a law": "Le texte que la loi de 2022 écrit :\n\nnul n'est censé.\n",
    "two lines below a drawn word": "---- Trip ----\nFrom: Berlin\nTo: Paris\nSee you there.\n",
    "a header that is not sure": "On Monday 3 May, Bob wrote:\n\nIs it?\n\nIt is.\n",
}  # fmt: skip


@pytest.mark.parametrize("case", LOOKS_QUOTED)
def test_what_may_be_quoted_stays_and_is_doubtful(case: str) -> None:
    new = find_new(LOOKS_QUOTED[case])
    assert new.text == LOOKS_QUOTED[case]
    assert new.confidence is TextConfidence.LOW


ABOVE_MARKS = {
    "a pronoun": "As you wrote:",
    "a pronoun and a day": "On Monday you wrote:",
    "she": "She wrote:",
    "a sentence": "The part that I mean is this:",
    "a sentence with a date": "I mean what on 3 Jan 2022 at 10:00 you wrote:",
    "a sentence with a verb": "The report that our boss wrote:",
}


@pytest.mark.parametrize("case", ABOVE_MARKS)
def test_a_sentence_above_quoted_lines_stays(case: str) -> None:
    sentence = ABOVE_MARKS[case]
    new = find_new(f"Hello,\n\n{sentence}\n> Is it?\n\nIt is.\n")
    assert new.text.split() == ["Hello,", *sentence.split(), "It", "is."]


PROSE_ABOVE = {
    "a sentence with a date": "We met on 5 May 2022.",
    "a sentence that begins with On": "On the whole it is fine.",
    "a sentence with an address": "Ask bob@x.example for it.",
    "half a sentence": "Yes, of course",
    "a question": "Is it true?",
    "a name that begins like Tuesday": "Marianne",
    "a name that begins like Monday": "Monika",
    "a greeting that begins like Friday": "Freundliche Grüße",
    "a greeting that begins like a day": "Vendredi prochain",
    "a greeting that begins like On": "A plus",
    "a short word that is a day": "So",
}


@pytest.mark.parametrize("case", PROSE_ABOVE)
@pytest.mark.parametrize(
    "header",
    [
        "On Mon, 3 Jan 2022 at 10:00, Bob <bob@x.example> wrote:",
        "Bob Example <bob@x.example> wrote:",
        "Bob Example <bob@x.example> schrieb am Mo., 3. Jan. 2022 um 10:00 Uhr:",
        "Bob Example <bob@x.example>, 3 Oca 2022 Pzt, 10:00 tarihinde şunu yazdı:",
        "Bob Example <bob@x.example> ezt írta (időpont: 2022. jan. 3., H, 10:00):",
        "Bob Example <bob@x.example> 于2022年1月3日周一 10:00写道：",
        "Bob Example schrieb am 03.01.2022 um 10:00:",
        "bobs-shop schrieb am Mo. 3. Januar 2022 um 10:00:",
        "Am Mo., 3. Jan. 2022 um 10:00 Uhr schrieb Bob <bob@x.example>:",
        "From: Bob <bob@x.example>\nSent: Monday, 3 January 2022 10:00\nTo: Alice\nSubject: Report",
    ],
)
def test_a_sentence_right_above_a_header_stays(case: str, header: str) -> None:
    sentence = PROSE_ABOVE[case]
    assert find_new(f"{sentence}\n{header}\n\nIs it?\n").text == f"{sentence}\n"


SENTENCES = (
    "Sent from home.", "Sent from my desk", "Sent with DHL", "Get Bob", "My iPhone", "iPhone", "Samsung", "Sent", "Outlook is broken",
    "Sent from Alice's iPhone by Bob", "I sent it from my iPhone", "Sent from my iPhone?! Really?", "发自我的内心", "Gesendet an meine Frau",
    "Enviado ayer desde mi casa", "Sent by phone", "Get Outlook fixed", "Written on the wall",
)  # fmt: skip


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_is_no_line_of_a_telephone(sentence: str) -> None:
    assert not is_device_line(sentence)
