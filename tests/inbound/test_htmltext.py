"""HTML becomes the text that a reader sees; what is hidden in it is dropped and told (HAZARDS D11)."""

from pathlib import Path

import pytest

from support.mails import read


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
