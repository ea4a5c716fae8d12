"""Nothing that a caller or a correspondent wrote ends a mail early, for any reader of line ends."""

import re

from hypothesis import given
from hypothesis import strategies as st

from postroom.core.ancestry import ancestry_lines, answer_to
from postroom.core.job import Job
from postroom.core.jobfields import read_job
from postroom.core.subject import reply_subject
from postroom.inbound.encodedwords import decode_field
from postroom.inbound.messageids import read_ids
from postroom.outbound.compose import DotStuffer
from support.mail import NOW, is_one, spec, stuffed, wire


PIECES = st.sampled_from(
    ["\r\n.\r\n", "\n.\n", "\r.\r", "\n.\r\n", "\r\n.\n", ".", "..", "\r", "\n", "\0", "\x0b", "\x85", "\u2028", "a", " ", "é",
     "MAIL FROM:<b@x.example>\r\n", "X-A: b", "=0D=0A.=0D=0A", "=?utf-8?q?=0D=0A=2E=0D=0A?=", "--b", "\ud800", "\u202e"]
)  # fmt: skip
TEXT = st.lists(PIECES, max_size=12).map("".join)


@given(text=TEXT, html=TEXT, subject=TEXT, value=TEXT, display=TEXT, step=st.integers(1, 40))
def test_what_a_caller_writes_is_refused_or_stays_in_its_mail(
    text: str, html: str, subject: str, value: str, display: str, step: int
) -> None:
    given_job = {
        "text": text + "x",
        "html": f"<p>{html}</p>",
        "subject": subject,
        "headers": {"X-Note": value},
        "to": [{"address": "ann@one.example", "name": display}],
    }
    for left_out in (
        [],
        ["headers", "to"],
        ["headers", "to", "subject"],
        ["headers", "to", "subject", "html"],
    ):
        fields = {name: what for name, what in given_job.items() if name not in left_out}
        found = read_job(spec(**fields), now=NOW)
        if isinstance(found, Job):
            message = wire(found)
            assert is_one(stuffed(message))
            stuffer = DotStuffer()
            pieces = [stuffer.stuff(message[at : at + step]) for at in range(0, len(message), step)]
            assert b"\r\n" + b"".join(pieces) + b".\r\n" == stuffed(message)


@given(subject=TEXT, ids=TEXT, parent=TEXT)
def test_what_a_correspondent_wrote_stays_in_the_header_of_the_answer(
    subject: str, ids: str, parent: str
) -> None:
    octets = (f"=?utf-8?q?{subject}?=").encode(errors="replace")
    answered = reply_subject(decode_field(octets, set()))
    found = read_job(spec(subject=answered), now=NOW)
    if isinstance(found, Job):
        assert is_one(stuffed(wire(found)))
    references = read_ids([f"<{ids}> <a@x.example>".encode(errors="replace")], set())
    lines = ancestry_lines(answer_to(f"<{parent}>", references, ["<b@x.example>"]))
    assert is_one(stuffed(lines))
    assert re.fullmatch(rb"(?:(?:In-Reply-To|References): [ -~]+\r\n(?: [ -~]+\r\n)*)*", lines)
