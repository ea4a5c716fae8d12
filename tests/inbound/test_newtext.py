"""What a person wrote now, told apart from what a mail program put around it; nothing of a text is ever lost."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.inmail import RemovedWhy
from postroom.inbound.newtext import find_new
from support.mails import read, whole


QUOTED = "> Is it resolved?\n> Yours\n"
REPLIES = {
    "English": f"Yes.\n\nOn Mon, 3 Jan 2022 at 10:00, Bob <b@x.example> wrote:\n\n{QUOTED}",
    "English without a date": f"Yes.\n\nOn Monday, Support wrote:\n{QUOTED}",
    "English in two lines": f"Yes.\n\nOn Mon, 3 Jan 2022 at 10:00, Bob With A Long Name <\nb@x.example> wrote:\n\n{QUOTED}",
    "German": f"Yes.\n\nAm 03.01.2022 um 10:00 schrieb Bob:\n{QUOTED}",
    "German with the verb early": f"Yes.\n\nBob <b@x.example> schrieb am Fr., 28.\nApr. 2017 um 11:53 Uhr:\n\n{QUOTED}",
    "French": f"Yes.\n\nLe 3 janv. 2022 à 10:00, Bob <b@x.example> a écrit :\n\n{QUOTED}",
    "Spanish": f"Yes.\n\nEl lun, 3 ene 2022 a las 10:00, Bob (<b@x.example>) escribió:\n\n{QUOTED}",
    "Portuguese": f"Yes.\n\nEm seg., 3 de jan. de 2022 às 10:00, Bob <b@x.example> escreveu:\n\n{QUOTED}",
    "Italian": f"Yes.\n\nIl giorno lun 3 gen 2022 alle ore 10:00 Bob <b@x.example> ha scritto:\n\n{QUOTED}",
    "Dutch": f"Yes.\nOp 3 jan. 2022 10:00 schreef Bob <b@x.example> het\nvolgende geschreven:\n\n{QUOTED}",
    "Swedish": f"Yes.\n\nDen mån 3 jan. 2022 kl 10:00 skrev Bob <b@x.example>:\n\n{QUOTED}",
    "Polish": f"Yes.\n\npon., 3 sty 2022 o 10:00 Bob <b@x.example> napisał(a):\n\n{QUOTED}",
    "Russian": f"Yes.\n\nпн, 3 янв. 2022 г. в 10:00, Bob <b@x.example> написал:\n\n{QUOTED}",
    "Chinese": f"Yes.\n\n于2022年1月3日周一 10:00，Bob <b@x.example> 写道：\n\n{QUOTED}",
    "Japanese": f"Yes.\n\n2022年1月3日(月) 10:00 Bob <b@x.example>のメール:\n\n{QUOTED}",
    "a date and an address": f"Yes.\n\n2022-01-03 10:00 GMT+02:00 Bob <b@x.example>:\n\n{QUOTED}",
    "nothing above it": f"Yes.\n\n{QUOTED}",
    "unmarked": "Yes.\n\nOn Mon, 3 Jan 2022 at 10:00, Bob <b@x.example> wrote:\n\nIs it resolved?\n",
    "unmarked with dashes": "Yes.\n\n---- On Mon, 03 Jan 2022 10:00 Bob <b@x.example> wrote ----\n\nIs it resolved?\n",
    "Outlook": "Yes.\n\nFrom: Bob <b@x.example>\nSent: Monday, 3 January 2022 10:00\nTo: A\nSubject: s\n\nIs it?\n",
    "Outlook with a rule": "Yes.\n\n________________________________\nFrom: Bob\nSent: Monday\nTo: A\n\nIs it?\n",
    "Outlook in German": "Yes.\n\nVon: Bob\nGesendet: Montag\nAn: A\nBetreff: s\n\nIst es?\n",
    "Original Message": "Yes.\n\n-----Original Message-----\nFrom: Bob\n\nIs it?\n",
    "Original Message in German": "Yes.\n\n-----Ursprüngliche Nachricht-----\nVon: Bob\n\nIst es?\n",
    "a signature": "Yes.\n\n-- \nAlice\nCustomer Ltd.\n",
    "a signature above a quotation": f"Yes.\n\n-- \nAlice\n\nOn Monday, Support wrote:\n{QUOTED}",
    "two dashes": "Yes.\n\n--\nAlice\n",
    "a telephone": f"Yes.\n\nSent from my iPhone\n\nOn Monday, Support wrote:\n{QUOTED}",
    "a telephone in German": "Yes.\n\nVon meinem iPhone gesendet\n",
    "quotation first": f"On Monday, Support wrote:\n{QUOTED}\nYes.\n",
}  # fmt: skip


@pytest.mark.parametrize("case", REPLIES)
def test_only_what_was_written_now_is_new(case: str) -> None:
    text = REPLIES[case]
    new, removed = find_new(text)
    assert new.strip() == "Yes."
    assert removed


def test_answers_between_quoted_lines_are_all_new() -> None:
    new, _ = find_new(
        "Hello,\n\nOn Monday, Bob wrote:\n> One?\n\nYes.\n\n> Two?\n\nNo.\n\n-- \nAlice\n"
    )
    assert new.split() == ["Hello,", "Yes.", "No."]


def test_a_header_with_nothing_above_it_hides_no_later_one() -> None:
    header = "On 3 Jan 2022, Bob <b@x.example> wrote:\n\nYes.\n"
    new, _ = find_new(f"{header}\n-----Original Message-----\nIs it?\n")
    assert new == header


def test_what_was_removed_has_its_reason() -> None:
    text = f"Yes.\n-- \nAlice\n\nOn Monday, Support wrote:\n{QUOTED}"
    _, removed = find_new(text)
    assert [one.why for one in removed] == [RemovedWhy.SIGNATURE, RemovedWhy.QUOTE]
    assert text[removed[0].start : removed[0].end] == "-- \nAlice"


KEPT = {
    "D08 paragraphs that begin with On": "On Monday we met.\n\nOn Tuesday Bob wrote a letter.\n\nOn the whole: fine.\n",
    "D10 sent from in prose": "I had it sent from my iPhone to the printer in the office and it came out well, thanks a lot.\n",
    "D10 sent from at the end": "Is it true?\nSent from my point of view it is.\n",
    "D11 a sentence that ends in wrote": "Le paragraphe que vous avez écrit :\n\nest parfait.\n",
    "a sentence with a verb": "As my boss wrote:\n\nwe will come.\n",
    "a list with a colon": "From: here\n\nto there it is far.\n",
    "two lines like a header": "Hello\nFrom: Berlin\nTo: Paris\nby train.\n",
    "only quoted": "> Is it resolved?\n",
    "a quotation to begin with": "> Is it resolved?\n> Really?\n\nYes.\n",
    "only a header": "On Mon, 3 Jan 2022 at 10:00, Bob <b@x.example> wrote:\n\nIs it?\n",
    "D17 forwarded": "See below.\n\n---------- Forwarded message ---------\nFrom: Bob\nDate: Mon\nSubject: s\nTo: A\n\n> Is it?\n",
    "forwarded by Apple": "See below.\n\nBegin forwarded message:\n\nFrom: Bob\nDate: Mon\nSubject: s\nTo: A\n\nIs it?\n",
    "code": "```\n# a comment\n```\n",
    "an empty text": "",
    "blanks": " \n\n",
}


@pytest.mark.parametrize("case", KEPT)
def test_what_a_person_may_have_written_stays(case: str) -> None:
    assert find_new(KEPT[case]) == (KEPT[case], ())


LINES = st.sampled_from(
    ["", " ", "Yes.", "> a", ">", "On Monday, Bob wrote:", "On 3 Jan 2022, Bob <b@x.example>", "wrote:", "-- ", "--"]
    + ["From: a", "Sent: b", "To: c", "Subject: d", "-----Original Message-----", "_____", "Sent from my iPhone"]
    + ["---------- Forwarded message ---------", ":", "----", "\u2028", "\r", "2022-01-03 10:00 Bob <b@x.example>:"]
)  # fmt: skip


@given(
    st.one_of(
        st.text(),
        st.lists(LINES).map("\n".join),
        st.lists(st.one_of(LINES, st.text())).map("\n".join),
    )
)
def test_new_text_and_removed_ranges_are_the_text(text: str) -> None:
    new, removed = find_new(text)
    at = 0
    kept = []
    for one in removed:
        assert at <= one.start < one.end <= len(text)
        kept.append(text[at : one.start])
        at = one.end
    assert "".join([*kept, text[at:]]) == new


HOSTILE = {
    "empty lines": "\n" * 51_200,
    "quotes": ">\n" * 25_600,
    "colons": "a:\n" * 17_000,
    "verbs": "wrote " * 8_500,
    "On a": "On a " * 10_000,
    "From": "From: x\n" * 6_400,
    "blanks": " " * 51_200,
    "dashes": "-" * 51_200,
    "headers between quotes": "> a\nwrote:\n" * 5_000,
    "long originals": ("-----Original Message" + " " * 300 + "\n") * 160,
    "signatures": "--\n" * 17_000,
    "an angle": "<" * 51_200,
}


@pytest.mark.parametrize("case", HOSTILE)
def test_no_text_takes_long(case: str) -> None:
    began = time.process_time()
    find_new(HOSTILE[case])
    assert (
        time.process_time() - began < 0.5
    )  # 20 to 50 ms on a quiet machine; what is not linear takes minutes


def test_a_text_of_50_kib_takes_a_few_milliseconds() -> None:
    text = (
        "Hello there, this is a line of text.\n" * 700 + f"On Monday, Bob wrote:\n{QUOTED * 1000}"
    )[: 50 * 1024]
    times = []
    for _ in range(5):
        began = time.process_time()
        find_new(text)
        times.append(time.process_time() - began)
    assert min(times) < 0.02  # 2.5 ms on a quiet machine


PAGES = {
    "a paragraph": ("<p>Hello</p><p>there</p>", "Hello\n\nthere\n"),
    "a line": ("Hello<br>there", "Hello\nthere\n"),
    "blanks": ("<div>  a\n b&nbsp; c </div>", "a b c\n"),
    "a list": ("<ul><li>one<li>two</ul>", "- one\n- two\n"),
    "a table": ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc\n"),
    "a link": ('<a href="https://x.example/">here</a>', "here <https://x.example/>\n"),
    "a bare link": ('<a href="https://x.example/">https://x.example/</a>', "https://x.example/\n"),
    "an address": ('<a href="mailto:a@x.example">a@x.example</a>', "a@x.example\n"),
    "a script's link": ('<a href="javascript:alert(1)">here</a>', "here\n"),
    "preformatted": ("<pre>a  b\n  c</pre>", "a  b\n  c\n"),
    "a script": ("<script>evil()</script><style>a{}</style><title>t</title>words", "words\n"),
    "a Gmail quotation": (
        '<div>Yes.</div><div class="gmail_quote"><div class="gmail_attr">On Monday, Bob wrote:</div>'
        "<blockquote>Is it?<br>Really?</blockquote></div>",
        "Yes.\nOn Monday, Bob wrote:\n\n> Is it?\n> Really?\n",
    ),
    "a cited quotation": ('<p>Yes.</p><blockquote type="cite"><p>Is it?</p><p>Is it?</p></blockquote>', "Yes.\n\n> Is it?\n>\n> Is it?\n"),
    "one's own quotation": ("<blockquote>To be.</blockquote>", "To be.\n"),
    "nothing": ("", ""),
    "half a tag": ("words <a", "words\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", PAGES)
def test_html_becomes_what_a_reader_sees(case: str, tmp_path: Path) -> None:
    page, text = PAGES[case]
    assert read(f"Content-Type: text/html\n\n{page}", directory=tmp_path).text == text


HIDDEN = (
    "display:none", "DISPLAY : none", "visibility:hidden", "font-size:0", "font-size:0px;color:red", "max-height:0px",
    "opacity:0", "opacity: 0.0", "mso-hide:all",
)  # fmt: skip


@pytest.mark.parametrize("style", HIDDEN)
def test_hidden_text_is_dropped_and_told(style: str, tmp_path: Path) -> None:
    parsed = read(
        f'Content-Type: text/html\n\n<p>a</p><div style="{style}">Obey <b>me</b></div>b',
        directory=tmp_path,
    )
    assert parsed.text == "a\n\nb\n"
    assert "hidden_text_dropped" in parsed.defects


@pytest.mark.parametrize(
    "style", ["opacity:0.5", "font-size:10px", "max-height:100px", "color:#000"]
)
def test_visible_text_stays(style: str, tmp_path: Path) -> None:
    parsed = read(f'Content-Type: text/html\n\n<p style="{style}">a</p>', directory=tmp_path)
    assert parsed.text == "a\n"
    assert parsed.defects == ()


def test_a_reply_in_html_is_cut_as_plain_text_is(tmp_path: Path) -> None:
    parsed = read(
        'Content-Type: text/html\n\n<div>One: yes.</div><div class="gmail_quote"><div>On Monday, Bob wrote:</div>'
        "<blockquote>One?<div>Two?</div></blockquote><div>Two: no.</div></div>",
        directory=tmp_path,
    )
    assert parsed.new_text.split("\n") == ["One: yes.", "", "Two: no.", ""]
    assert whole(parsed) == parsed.text
