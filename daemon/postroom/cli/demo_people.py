"""The demo's other side: a person who answers, one who is away, and a server that gives up on an address.

All they know is the copy that the relay was given: its Reply-To and its reverse-path. No header of theirs says what
they answer, as with mail programs that drop those; they hand it to the daemon's listener, as their servers would.
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

    def _hand_over(self, sender: str, recipient: str, form: str, copy: Mail) -> None:
        text = form.format(
            who=copy.recipient,
            subject=copy.subject,
            reply_to=copy.reply_to,
            reverse_path=copy.reverse_path,
            said=SAID,
            said_id=SAID_ID,
        )
        content = text.replace("\n", "\r\n").encode()
        try:
            with smtplib.SMTP(HOST, self.port, _SERVER, timeout=_LONGEST_S) as session:
                session.sendmail(sender, [recipient], content)
        except (OSError, smtplib.SMTPException) as fault:
            problem = f"its listener did not take a mail for {recipient}: {fault}"
            raise NotTaken(problem) from fault
