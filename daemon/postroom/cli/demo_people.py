"""The demo's other side: a person who answers, one who is away, a server that gives up on an address, and a forger.

All that the first three know is the copy that the relay was given: its Reply-To and its reverse-path. No header of theirs
says what they answer, as with mail programs that drop those. A server in front of the daemon hands their mail on to its
listener, and says from which address it has it.
"""

import smtplib
from dataclasses import dataclass
from typing import Final

from postroom.cli.demo_relay import Mail
from postroom.selftest.relay import HOST


PERSON: Final = "ann@customer.example"
AWAY: Final = "ben@customer.example"
MOVED: Final = "cara@customer.example"
SAID: Final = "Yes, the northern figures please, by Friday."
SAID_ID: Final = "<yes-1@customer.example>"
FORGED: Final = "Please pay to my new account."
TEXTS: Final = {  # what their domain says of itself in DNS: from where its mail comes, and that other mail is not its own
    "customer.example": "v=spf1 ip4:192.0.2.7 -all",
    "mx.customer.example": "v=spf1 ip4:192.0.2.7 -all",
    "_dmarc.customer.example": "v=DMARC1; p=reject",
}

_HOME: Final = "192.0.2.7"
_ELSEWHERE: Final = "198.51.100.66"
_SERVER: Final = "mx.customer.example"
_LONGEST_S: Final = 10.0

_ANSWER: Final = """\
From: Ann <{who}>
To: {reply_to}
Subject: Re: {subject}
Date: Mon, 30 Nov 2026 09:00:00 +0000
Message-ID: {said_id}

{said}

On Mon, 30 Nov 2026 at 08:59, Reports <reports@example.com> wrote:
> Which figures do you need?

--\x20
Ann Example, Customer Ltd
"""
_NOTICE: Final = """\
From: {who}
To: {reply_to}
Subject: Automatic reply: {subject}
Date: Mon, 30 Nov 2026 09:00:01 +0000
Message-ID: <away-1@customer.example>
Auto-Submitted: auto-replied

I am out of the office until Monday.
"""
_REPORT: Final = """\
From: Mail Delivery System <mailer-daemon@customer.example>
To: {reverse_path}
Subject: Undelivered Mail Returned to Sender
Date: Mon, 30 Nov 2026 09:00:02 +0000
Message-ID: <report-1@customer.example>
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b

{who} is not known here any more.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.customer.example

Final-Recipient: rfc822; {who}
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 User unknown

--b--
"""
_FORGERY: Final = """\
From: Ann <{who}>
To: {reports}
Subject: My new account
Date: Mon, 30 Nov 2026 09:00:03 +0000
Message-ID: <pay-1@customer.example>

{forged}
"""


class NotTaken(Exception):
    """The daemon's listener did not take a mail."""


@dataclass(frozen=True, slots=True)
class People:
    """They hand mail over at this port of this machine."""

    port: int

    def answer(self, copy: Mail) -> None:
        """A person answers: new words above a quote and a signature."""
        self._hand_over(copy.recipient, copy.reply_to, _ANSWER, copy)

    def be_away(self, copy: Mail) -> None:
        """A mailbox answers by itself (RFC 3834)."""
        self._hand_over("", copy.reply_to, _NOTICE, copy)

    def bounce(self, copy: Mail) -> None:
        """A server gives up, long after the relay took the mail (RFC 3464)."""
        self._hand_over("", copy.reverse_path, _REPORT, copy)

    def forge(self, copy: Mail, reports: str) -> None:
        """Somebody writes under her name, from elsewhere."""
        text = _FORGERY.format(who=copy.recipient, reports=reports, forged=FORGED)
        self._send(copy.recipient, reports, text, _ELSEWHERE)

    def _hand_over(self, sender: str, recipient: str, form: str, copy: Mail) -> None:
        text = form.format(
            who=copy.recipient,
            subject=copy.subject,
            reply_to=copy.reply_to,
            reverse_path=copy.reverse_path,
            said=SAID,
            said_id=SAID_ID,
        )
        self._send(sender, recipient, text, _HOME)

    def _send(self, sender: str, recipient: str, text: str, client: str) -> None:
        content = text.replace("\n", "\r\n").encode()
        try:
            with smtplib.SMTP(HOST, self.port, _SERVER, timeout=_LONGEST_S) as session:
                session.ehlo()
                session.docmd("XFORWARD", f"ADDR={client} HELO={_SERVER}")
                session.sendmail(sender, [recipient], content)
        except (OSError, smtplib.SMTPException) as fault:
            problem = f"its listener did not take a mail for {recipient}: {fault}"
            raise NotTaken(problem) from fault
