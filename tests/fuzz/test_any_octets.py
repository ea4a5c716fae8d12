"""The targets over octets that hypothesis puts together: a little of what `make fuzz` does, in every run of the suite."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.every import TARGETS
from support.listening import BOX


MAIL = [
    b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"--b\r\n", b"--b--\r\n", b": ", b";", b'"', b"\\", b"<", b">", b"@", b"=", b"?=",
    b"=?utf-8?q?=C3=A4?=", b"=?utf-8?b?", b"%2f", b"*0*=utf-8''", b"../", b"\x1b$B", b"\0", b"\xff", b"\xed\xa0\x80",
    b"From: ", b"To: ", b"Subject: ", b"Content-Type: multipart/mixed; boundary=b\r\n", b"Content-Type: text/html\r\n\r\n",
    b"Content-Disposition: attachment; filename=", b"Content-Type: message/delivery-status\r\n\r\n", b"charset=utf-7",
    b"Final-Recipient: rfc822;", b"Action: failed\r\n", b"> ", b"-- \r\n", b"On 3 Jan, a@x.example wrote:\r\n", b"wrote:",
    b"<blockquote type=cite>", b"<p style='", b"font-size:0", b"display:none", b"<a href='http://x'>", b"<pre>", b"&#0;",
]  # fmt: skip
SAID = [
    b"\r\n", b"\n", b"\r", b".", b"\r\n.\r\n", b"\n.\n", b"\0", b"\xff", b"EHLO x\r\n", b"MAIL FROM:<a@example.net>\r\n",
    b"RCPT TO:<%s>\r\n" % BOX.address.encode(), b"DATA\r\n", b"RSET\r\n", b"NOOP ", b"QUIT\r\n", b"Received: x\r\n", b"a",
    b"MAIL FROM:<>\r\n", b" SMTPUTF8", b"BDAT 3 LAST\r\n", b"STARTTLS\r\n", b"GET / HTTP/1.1\r\n", b"<", b">", b":", b"@",
]  # fmt: skip
ANSWERED = [
    b"220 x\r\n", b"250-x\r\n", b"250 ok\r\n", b"250 2.0.0\n", b"354 go\r\n", b"334 eA==\r\n", b"421 4.3.2 bye\r\n", b"550 5.1.1 no\r\n",
    b"\xfe", b"\xfe", b"\xfe", b"250-AUTH PLAIN LOGIN CRAM-MD5\r\n", b"250-SIZE 9\r\n", b"250", b"-", b" ", b"\r\n", b"\n", b"\0", b"\xff", b"999 x\r\n",
]  # fmt: skip
WRITTEN = [
    b"\xfe", b"\xfe", b"\xfe", b"a@x.example", b"\r\n.\r\n", b"\n", b"\0", b"\xff", b" ", b"=?utf-8?q?x?=", b'"', b"\\", b"<", b">", b",", b"X-A",
    b"a.pdf", b"text/plain", b"\xc3\xa4", b"\xe2\x82\xac", b"\xe2\x80\xa8", b"@xn--bcher-kva.example", b"w" * 90, b";", b"..", b"/",
]  # fmt: skip
ASKED = [
    b"{", b"}", b"[", b"]", b'"', b":", b",", b"null", b"1", b'"to":["a@x.example"]', b'"subject":"x"', b'"text":"y"', b'"mailbox_id":"support"', b"\n",
    b"POST ", b"GET ", b"v1/jobs", b"v1/leases", b"v1/events", b"?limit=2", b"&cursor=c1", b"%00", b"\xff", b"\\ud800", b'"attachments":[{}]', b"\n\n",
]  # fmt: skip
OF_TARGETS = {
    **dict.fromkeys(("content", "dialogue", "path"), SAID),
    **dict.fromkeys(("replies", "greeting", "transaction"), ANSWERED),
    **dict.fromkeys(("asked", "request"), ASKED),
    "job": WRITTEN,
}


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_promised_holds_for_any_octets(name: str) -> None:
    pieces = st.lists(st.sampled_from(OF_TARGETS.get(name, MAIL)), max_size=30).map(b"".join)
    first = st.binary(min_size=1, max_size=1)

    @settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
    @given(st.one_of(st.binary(max_size=100), st.builds(bytes.__add__, first, pieces)))
    def holds(octets: bytes) -> None:
        TARGETS[name](octets)

    holds()
