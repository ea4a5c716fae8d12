"""Answers in HTML as web mail and mail programs write them: what they quote is told apart there, too (CASES D16)."""

from pathlib import Path

import pytest

from postroom.core.inmail import InMail, TextConfidence
from support.mails import read, whole


def page(html: str, directory: Path, subject: str = "Re: Report") -> InMail:
    """What is understood of a mail in HTML only."""
    mail = f"Subject: {subject}\nContent-Type: text/html; charset=utf-8\n\n<html><body>{html}</body></html>"
    parsed = read(mail, directory=directory)
    assert whole(parsed) == parsed.text
    return parsed


GMAIL_HEADER = "On Mon, 3 Jan 2022 at 10:00, Bob &lt;<a href='mailto:bob@x.example'>bob@x.example</a>&gt; wrote:<br>"
OUTLOOK_BLOCK = (
    "<b>From:</b> Bob &lt;bob@x.example&gt;<br><b>Sent:</b> Monday, January 3, 2022 10:00 AM<br><b>To:</b> Alice<br>"
    "<b>Subject:</b> Your report"
)
REPLIES = {
    "Gmail": f'<div dir="ltr">Yes.</div><br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">{GMAIL_HEADER}</div>'
    '<blockquote class="gmail_quote" style="margin:0 0 0 .8ex;border-left:1px #ccc solid"><div>Is it?</div></blockquote></div>',
    "Gmail of today": f'<div dir="ltr">Yes.</div><br><div class="gmail_quote gmail_quote_container"><div class="gmail_attr">{GMAIL_HEADER}</div>'
    "<blockquote><div>Is it?<br><br>Really?</div></blockquote></div>",
    "Gmail with an address that is taken for a tag": '<div>Yes.</div><div class="gmail_quote">On Mon, 3 Jan 2022 at 10:00, Bob <bob@x.example> wrote:<br>'
    "<blockquote>Is it?</blockquote></div>",
    "unmarked with an address that is taken for a tag": "<p>Yes.</p><p>On Mon, 3 Jan 2022 at 10:00, Bob <bob@x.example> wrote:</p><p>Is it?</p>",
    "Apple Mail": '<div>Yes.</div><br><div><blockquote type="cite"><div>On 3 Jan 2022, at 10:00, Bob &lt;bob@x.example&gt; wrote:</div><br>'
    "<div>Is it?</div></blockquote></div>",
    "iOS": '<div>Yes.</div><br id="lineBreakAtBeginningOfSignature"><div>Sent from my iPhone</div><div><br>On 3 Jan 2022, at 10:00, Bob &lt;bob@x.example&gt; wrote:<br><br></div>'
    '<blockquote type="cite"><div>Is it?</div></blockquote>',
    "iOS with the header apart": '<div dir="ltr">Yes.<br><br><div dir="ltr">Sent from my iPhone</div><div dir="ltr"><br><blockquote type="cite">On 3 Jan 2022, at 10:00, Bob wrote:<br><br></blockquote></div>'
    '<blockquote type="cite"><div>Is it?</div></blockquote></div>',
    "Yahoo": '<div class="ydp1">Yes.</div><div id="yahoo_quoted_1" class="yahoo_quoted"><div>On Monday, January 3, 2022, Bob &lt;bob@x.example&gt; wrote:</div><div>Is it?</div></div>',
    "Thunderbird": '<p>Yes.</p><div class="moz-cite-prefix">On 1/3/22 10:00, Bob wrote:<br></div><blockquote type="cite" cite="mid:1@x.example"><p>Is it?</p></blockquote>',
    "Outlook on the web": '<div>Yes.</div><div id="appendonsend"></div><hr style="display:inline-block;width:98%"><div id="divRplyFwdMsg" dir="ltr"><font>'
    f"{OUTLOOK_BLOCK}</font><div>&nbsp;</div></div><div>Is it?</div>",
    "Outlook on a telephone": '<div>Yes.</div><div id="ms-outlook-mobile-signature">Get <a href="https://x.example/o">Outlook for iOS</a></div><hr>'
    f'<div id="divRplyFwdMsg">{OUTLOOK_BLOCK}</div><div>Is it?</div>',
    "Outlook": '<div class="WordSection1"><p class="MsoNormal">Yes.</p><p class="MsoNormal">&nbsp;</p><div style="border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0in 0in 0in">'
    f'<p class="MsoNormal">{OUTLOOK_BLOCK}</p></div><p class="MsoNormal">Is it?</p></div>',
    "Outlook with a paragraph for each": "<p>Yes.</p><p><b>Von:</b> Bob</p><p><b>Gesendet:</b> Montag, 3. Januar 2022 10:00</p><p><b>An:</b> Alice</p><p><b>Betreff:</b> Bericht</p><p>Ist es?</p>",
    "Outlook for Mac": '<div>Yes.</div><span id="OLK_SRC_BODY_SECTION"><div style="border-top:1pt solid"><span style="font-weight:bold">From: </span> Bob &lt;<a href="mailto:bob@x.example">bob@x.example</a>&gt;<br>'
    '<span style="font-weight:bold">Date: </span> Monday, 3 January 2022 at 10:00<br><span style="font-weight:bold">To: </span> Alice<br><span style="font-weight:bold">Subject: </span> Report</div><div>Is it?</div></span>',
    "Proton Mail": '<div>Yes.</div><div class="protonmail_quote">On Monday, January 3rd, 2022 at 10:00 AM, Bob &lt;bob@x.example&gt; wrote:<br><blockquote class="protonmail_quote" type="cite">Is it?</blockquote></div>',
    "Zoho": '<div>Yes.</div><div class="zmail_extra"><div>---- On Mon, 03 Jan 2022 10:00:00 +0000 <b>Bob &lt;bob@x.example&gt;</b> wrote ----</div><blockquote>Is it?</blockquote></div>',
    "Tuta": '<div>Yes.</div><div>3 Jan 2022, 10:00 by bob@x.example:</div><blockquote class="tutanota_quote"><div>Is it?</div></blockquote>',
    "GMX": '<div>Yes.</div><div name="quote" style="border-left:2px solid #C3D9E5"><div><b>Gesendet:</b>&nbsp;Montag, 03. Januar 2022 um 10:00 Uhr<br><b>Von:</b>&nbsp;"Bob" &lt;bob@x.example&gt;<br>'
    '<b>An:</b>&nbsp;alice@y.example<br><b>Betreff:</b>&nbsp;Bericht</div><div name="quoted-content">Ist es?</div></div>',
    "Mail.ru": '<div>Yes.</div><blockquote style="border-left:1px solid #0857A6;margin:10px;padding:0 0 0 10px">Понедельник, 3 января 2022, 10:00 +03:00 от Bob &lt;bob@x.example&gt;:<br><div>Is it?</div></blockquote>',
    "Yandex": '<div>Yes.</div><div>03.01.2022, 10:00, "Bob" &lt;bob@x.example&gt;:</div><blockquote><p>Is it?</p></blockquote>',
    "NetEase": '<div>Yes.</div><div>At 2022-01-03 10:00:00, "Bob" &lt;bob@x.example&gt; wrote:</div><blockquote id="isReplyContent" style="PADDING-LEFT:1ex;BORDER-LEFT:#ccc 1px solid"><div>Is it?</div></blockquote>',
    "QQ": '<div>Yes.</div><div>------------------&nbsp;原始邮件&nbsp;------------------</div><div><b>发件人:</b> "Bob" &lt;bob@x.example&gt;;</div><div><b>发送时间:</b> 2022年1月3日(星期一) 上午10:00</div>'
    "<div><b>收件人:</b> Alice;</div><div><b>主题:</b> 报告</div><div>Is it?</div>",
}  # fmt: skip


@pytest.mark.parametrize("client", REPLIES)
def test_only_the_answer_in_a_page_is_new(client: str, tmp_path: Path) -> None:
    parsed = page(REPLIES[client], tmp_path)
    assert parsed.new_text.strip() == "Yes."
    assert parsed.text_confidence is TextConfidence.HIGH
    assert not parsed.is_forward


FORWARDS = {
    "Gmail": '<div>See below.</div><div class="gmail_quote"><div class="gmail_attr">---------- Forwarded message ---------<br>From: <b>Bob</b> &lt;bob@x.example&gt;<br>Date: Mon, 3 Jan 2022<br>'
    "Subject: Report<br>To: &lt;alice@y.example&gt;<br></div><div>Is it?</div></div>",
    "Apple Mail": '<div>See below.</div><div><blockquote type="cite"><div>Begin forwarded message:</div><br><div><b>From: </b>Bob &lt;bob@x.example&gt;</div><div><b>Subject: </b>Report</div><div>Is it?</div></blockquote></div>',
    "Thunderbird": '<p>See below.</p><div class="moz-forward-container">-------- Forwarded Message --------<table><tr><th>Subject: </th><td>Report</td></tr><tr><th>From: </th><td>Bob &lt;bob@x.example&gt;</td></tr></table><p>Is it?</p></div>',
    "Outlook": f'<div>See below.</div><hr><div id="divRplyFwdMsg">{OUTLOOK_BLOCK}</div><div>Is it?</div>',
    "GMX": '<div>See below.</div><div name="quote"><div><b>Gesendet:</b> Montag, 03. Januar 2022 um 10:00 Uhr<br><b>Von:</b> "Bob" &lt;bob@x.example&gt;<br><b>Betreff:</b> Bericht</div><div>Ist es?</div></div>',
}  # fmt: skip


@pytest.mark.parametrize("client", FORWARDS)
def test_a_forwarded_page_is_whole(client: str, tmp_path: Path) -> None:
    parsed = page(FORWARDS[client], tmp_path, subject="Fwd: Report")
    assert parsed.new_text == parsed.text
    assert parsed.is_forward


def test_a_page_with_a_block_that_answers_nothing_is_a_forward(tmp_path: Path) -> None:
    html = FORWARDS["Outlook"]
    assert page(html, tmp_path, subject="Report").new_text == page(html, tmp_path).text
    assert page(html, tmp_path, subject="Report").is_forward
    assert (
        page(html, tmp_path, subject="Report\nIn-Reply-To: <1@x.example>").new_text
        == "See below.\n"
    )


def test_a_page_whose_quotation_is_marked_is_an_answer_whatever_its_subject(
    tmp_path: Path,
) -> None:
    for client in ("Gmail", "Apple Mail", "iOS", "iOS with the header apart", "Yahoo"):
        parsed = page(REPLIES[client], tmp_path, subject="Report")
        assert (parsed.new_text.strip(), parsed.is_forward) == ("Yes.", False), client


def test_a_forward_in_plain_text_is_told_by_its_subject(tmp_path: Path) -> None:
    block = "From: Bob <bob@x.example>\nSent: Monday, January 3, 2022 10:00 AM\nTo: Alice\nSubject: Report\n\nIs it?\n"
    answer = read(f"Subject: RE: Report\n\nYes.\n\n{block}", directory=tmp_path)
    forward = read(f"Subject: WG: Report\n\nYes.\n\n{block}", directory=tmp_path)
    assert (answer.is_forward, forward.is_forward) == (False, True)
    assert answer.new_text == forward.new_text == "Yes.\n"
    assert [one.why for one in answer.removed + forward.removed] == ["quote", "forward"]


def test_answers_in_a_page_between_what_they_answer_are_new(tmp_path: Path) -> None:
    parsed = page(
        '<div>One: yes.</div><div class="gmail_quote"><div>On Monday, Bob wrote:</div><blockquote>One?</blockquote>'
        "<div>Two: no.</div><blockquote>Two?</blockquote></div>",
        tmp_path,
    )
    assert parsed.new_text.split("\n\n") == ["One: yes.", "Two: no.\n"]


KEPT = {
    "a quotation of one's own": "<p>As they say:</p><blockquote><p>To be.</p></blockquote><p>Yes.</p>",
    "a division with a name": '<div class="quote">To be.</div><p>Yes.</p>',
    "an address in brackets": "<p>Ask <bob@x.example> for it.</p>",
}


@pytest.mark.parametrize("case", KEPT)
def test_what_a_page_does_not_mark_as_anothers_stays(case: str, tmp_path: Path) -> None:
    parsed = page(KEPT[case], tmp_path)
    assert parsed.new_text == parsed.text
    assert "<bob@x.example>" in parsed.text or "To be." in parsed.text
