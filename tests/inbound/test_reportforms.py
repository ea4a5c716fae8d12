"""Reports in plain words, as some forty kinds of servers write them: whom they name, and what they come to.

Every text is ours, in the form of a server's. The ids name the rows of CASES B where there is one.
"""

from pathlib import Path

import pytest

from postroom.core.bouncereason import BounceClass, BounceReason
from postroom.core.inmail import AutomationKind
from support.mails import comes_to, read


_C = BounceClass
_R = BounceReason
A, B = "a@x.example", "b@x.example"
UNKNOWN = (A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN, "5.1.1", 550)
FULL = (B, _C.TEMPORARY, _R.RECIPIENT_MAILBOX_FULL, "5.2.2", 552)
# Subject and text; each recipient with class, reason, status and reply code.
FORMS = {
    "B05 Gmail": (
        "Delivery Status Notification (Failure)",
        f"Delivery to the following recipient failed permanently:\n\n     {A}\n\nTechnical details of permanent failure:\n"
        f"The error that the other server returned was:\n550 5.1.1 <{A}>... No such user\n\n----- Original message -----\nTo: {B}\n",
        [UNKNOWN],
    ),
    "B05 Gmail that still tries": (
        "Delivery Status Notification (Delay)",
        f"THIS IS A WARNING MESSAGE ONLY.\n\nDelivery to the following recipient has been delayed:\n\n     {A}\n\n"
        "Message will be retried for 2 more day(s)\n\n----- Original message -----\n",
        [(A, _C.DELAYED, _R.DOMAIN_TROUBLE, None, None)],
    ),
    "B05 Gmail without a domain": (
        "Delivery Status Notification (Failure)",
        f"Your message wasn't delivered to {A} because the domain x.example couldn't be found.\n\nDNS Error: NXDOMAIN\n",
        [(A, _C.PERMANENT, _R.DOMAIN_UNKNOWN, None, None)],
    ),
    "B07 Exim": (
        "Mail delivery failed: returning message to sender",
        "A message that you sent could not be delivered to one or more of its recipients. The following address(es) failed:\n\n"
        f"  {A}\n    SMTP error from remote mail server after RCPT TO:<{A}>:\n    host mx.x.example [192.0.2.1]: 550 5.1.1 unknown user\n"
        f"  {B}\n    mailbox is full: retry timeout exceeded\n\n------ This is a copy of the message, including all the headers. ------\n",
        [UNKNOWN, (B, _C.TEMPORARY, _R.RECIPIENT_MAILBOX_FULL, None, None)],
    ),
    "Exim names the sender, too": (
        "Mail delivery failed",
        f"A message sent by\n\n  <{B}>\n\ncould not be delivered to one or more of its recipients. The following address(es) failed:\n\n"
        f"  {A}\n    all hosts have been failing for a long time\n",
        [(A, _C.TEMPORARY, _R.DOMAIN_TROUBLE, None, None)],
    ),
    "Exim that still tries": (
        "Warning: message 1abc delayed 24 hours",
        f"The address to which the message has not yet been delivered is:\n\n  {A}\n    Delay reason: 450 4.2.0 try later\n\nNo action is required\n",
        [(A, _C.DELAYED, _R.DOMAIN_TROUBLE, "4.2.0", 450)],
    ),
    "B07 Domino": (
        "DELIVERY FAILURE: not listed",
        f"Your message\n\n  Subject: Hi\n\nwas not delivered to:\n\n  {A}\n\nbecause:\n\n  User alice ({A}) not listed in Domino Directory\n",
        [(A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN, None, None)],
    ),
    "B07 Notes": (
        "Undeliverable message",
        f"------- Failure Reasons  --------\n\nUser not listed in public Name & Address Book: user not found\n{A}\n\n------- Returned Message --------\nTo: {B}\n",
        [(A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN, None, None)],
    ),
    "B07 Zoho": (
        "Undelivered Mail Returned to Sender",
        f"This is a permanent error. \n\n{A} Invalid Address, ERROR_CODE :550, ERROR_CODE :5.1.1 <{A}>... User Unknown\n"
        f"{B} Invalid Address, ERROR_CODE :552, ERROR_CODE :5.2.2 <{B}>... Mailbox Full\n\nReceived:from y.example\n",
        [UNKNOWN, FULL],
    ),
    "B07 KDDI": (
        "Mail System Error - Returned Mail",
        f"次のあて先へのメッセージはエラーのため送信できませんでした。\n\n    Recipient: <{A}>\n    >>> RCPT TO:<{A}>\n    <<< 550 <{A}>: User unknown\n",
        [(A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN, None, 550)],
    ),
    "B07 Google Groups": (
        "Delivery Status Notification (Failure)",
        "Hello,\n\nthe group you tried to contact may not exist, or you may not have permission to post messages to the group.\n\nGoogle Groups\n",
        [(None, _C.PERMANENT, _R.SENDER_REFUSED, None, None)],
    ),
    "B08 sendmail that still tries": (
        "Warning: could not send message for past 4 hours",
        f"   ----- The following addresses had transient non-fatal errors -----\n<{A}>\n\n   ----- Transcript of session follows -----\n"
        f"<{A}>... Deferred: Connection timed out\nWarning: message still undelivered after 4 hours\nWill keep trying until message is 5 days old\n",
        [(A, _C.DELAYED, _R.DOMAIN_TROUBLE, None, None)],
    ),
    "B10 OpenSMTPD that still tries": (
        "Delivery status notification: warning",
        f"    A message is delayed for more than 4 hours for the following\n    list of recipients:\n\n{A}: 421 4.7.0 try again later\n\n"
        "    Please note that this is only a temporary failure report.\n\n    Below is a copy of the original message:\n\nTo: b@x.example\n",
        [(A, _C.DELAYED, _R.DOMAIN_TROUBLE, "4.7.0", 421)],
    ),
    "OpenSMTPD": (
        "Delivery status notification: error",
        f"    An error has occurred for the following list of recipients:\n\n{A}: 550 5.1.1 unknown user\n{B}: 552 5.2.2 mailbox full\n\n    Below is a copy of the original message:\n",
        [UNKNOWN, FULL],
    ),
    "B04 qmail": (
        "failure notice",
        f"Hi. This is the qmail-send program at y.example.\n\n<{A}>:\nUnable to contact LDAP server. (#4.4.3)I'm not going to try again.\n\n--- Below this line is a copy of the message.\n",
        [(A, _C.TEMPORARY, _R.DOMAIN_TROUBLE, "4.4.3", None)],
    ),
    "qmail": (
        "failure notice",
        f"Hi. This is the qmail-send program at y.example.\n\n<{A}>:\n192.0.2.1 does not like recipient.\nRemote host said: 550 5.1.1 unknown user\nGiving up on 192.0.2.1.\n\n"
        f"<{B}>:\n192.0.2.1 does not like recipient.\nRemote host said: 552 5.2.2 mailbox full\nGiving up.\n\n--- Below this line is a copy of the message.\n",
        [UNKNOWN, FULL],
    ),
    "Postfix": (
        "Undelivered Mail Returned to Sender",
        f"<{A}> (expanded from <c@y.example>): host mx.x.example[192.0.2.1]\n    said: 550 5.1.1 <{A}>: Recipient address rejected: User unknown (in reply to RCPT TO command)\n",
        [UNKNOWN],
    ),
    "sendmail": (
        "Returned mail: see transcript for details",
        f"   ----- The following addresses had permanent fatal errors -----\n<{A}>\n    (reason: 550 5.1.1 unknown user)\n\n   ----- Transcript of session follows -----\n"
        f"... while talking to mx.x.example.:\n>>> DATA\n<<< 550 5.1.1 unknown user\n554 5.0.0 Service unavailable\n",
        [UNKNOWN],
    ),
    "sendmail 5": (
        "Returned mail: Host unknown",
        f"   ----- Transcript of session follows -----\n550 x.example (smtp)... 550 Host unknown\n554 <{A}>... 550 Host unknown (Authoritative answer from name server)\n"
        f">>> RCPT To:<{B}>\n<<< 550 <{B}>... User unknown\n550 <{B}>... User unknown\n\n   ----- Unsent message follows -----\n",
        [(A, _C.PERMANENT, _R.DOMAIN_UNKNOWN, None, 550), (B, _C.PERMANENT, _R.RECIPIENT_UNKNOWN, None, 550)],
    ),
    "Exchange 2003": (
        "Undeliverable: Hi",
        f"Your message\n\n  To:      c@y.example\n  Subject: Hi\n\ndid not reach the following recipient(s):\n\n{A} on Mon, 30 Nov 2026 10:00:00 +0000\n    The recipient name is not recognized\n",
        [(A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN, None, None)],
    ),
    "Exchange 2007": (
        "Undeliverable: Hi",
        f"Delivery has failed to these recipients or distribution lists:\n\nAlice<mailto:{A}>\nThe address was not found.\n\nDiagnostic information for administrators:\n\n{A}\n#550 5.1.1 RESOLVER.ADR.RecipNotFound; not found ##\n\nOriginal message headers:\n\nTo: {B}\n",
        [UNKNOWN],
    ),
    "Mimecast": (
        "[Postmaster] Email Delivery Failure",
        f"An email that you attempted to send to the following address could not be delivered:\n\n-- {A}\n\nAdditional information follows :\n\n-- 5.1.1 User unknown\n",
        [(A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN, "5.1.1", None)],
    ),
    "Yahoo": (
        "Failure Notice",
        f"Sorry, we were unable to deliver your message to the following address.\n\n<{A}>:\nRemote host said:\n550 5.1.1 No such user\n [RCPT_TO]\n\n--- Below this line is a copy of the message.\n",
        [UNKNOWN],
    ),
    "mail.ru says it twice": (
        "Mail failure",
        f"К сожалению, Ваше письмо не может быть доставлено:\n\n  {A}\n    550 5.1.1 unknown user\n\n**********\n\nThe following address(es) failed:\n\n  {A}\n    550 5.1.1 unknown user\n",
        [UNKNOWN],
    ),
    "GMX": (
        "Mail delivery failed: returning message to sender",
        f"The following address\nfailed:\n\n<{A}>\nReason:\ndelivery retry timeout exceeded\n\n--- The header of the original message is following. ---\n",
        [(A, _C.TEMPORARY, _R.DOMAIN_TROUBLE, None, None)],
    ),
    "McAfee": (
        "Delivery failure",
        f"    --- The following addresses had delivery problems ---\n\n<{A}>   (5.1.1 <{A}>... User unknown)\n",
        [(A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN, "5.1.1", None)],
    ),
    "ActiveHunter": (
        "Returned mail",
        f"  ----- The following addresses had permanent fatal errors -----\n\n>>> Alice <{A}>\n\n  ----- Transcript of session follows -----\n550 5.1.1 unknown user\n",
        [UNKNOWN],
    ),
    "iMail": ("Undeliverable Mail", f"Unknown user: {A}\n\nOriginal message follows.\n\nTo: {B}\n", [(A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN, None, None)]),
    "MailFoundry": (
        "Message delivery has failed",
        f"Unable to deliver message to: <{A}>\nDelivery failed for the following reason:\nmx.x.example[192.0.2.1] responded with failure: 552 5.2.2 mailbox full\n",
        [(A, _C.TEMPORARY, _R.RECIPIENT_MAILBOX_FULL, "5.2.2", 552)],
    ),
    "DragonFly": (
        "Mail delivery failed",
        f"There was an error delivering your mail to <{A}>.\n\nmx.x.example [192.0.2.1] did not like our RCPT TO:\n550 5.1.1 <{A}>: User unknown\n\nMessage headers follow.\n\nTo: <{B}>\n",
        [UNKNOWN],
    ),
    "Messaging Server": (
        "Delivery Notification: Delivery has failed",
        f"Your message cannot be delivered to the following recipients:\n\n  Recipient address: {A}\n  Reason: Remote SMTP server has rejected address\n  Diagnostic code: smtp;550 5.1.1 unknown user\n",
        [UNKNOWN],
    ),
    "InterScan": ("Mail could not be delivered", f"Sent <<< RCPT TO:<{A}>\nReceived >>> 550 5.1.1 <{A}>... user unknown\n", [UNKNOWN]),
    "Biglobe": (
        "Returned mail: Service unavailable",
        f"   ----- The following addresses had delivery problems -----\n{A}\n\n   ----- Non-delivered information -----\nThe number of messages in recipient's mailbox exceeded the local limit.\n",
        [(A, _C.TEMPORARY, _R.RECIPIENT_MAILBOX_FULL, None, None)],
    ),
    "in quotes": (
        "Mail Delivery Failure",
        f'Delivery of email to this address\n\n"{A}"\n\nhas failed due to a full mailbox. We have made numerous attempts.\n\nThe first 50 lines of your original message follow:\n> To: {B}\n',
        [(A, _C.TEMPORARY, _R.RECIPIENT_MAILBOX_FULL, None, None)],
    ),
    "Gmail numbers where it was said": (
        "Delivery Status Notification (Failure)",
        f"Delivery to the following recipient failed permanently:\n\n     {A}\n\nThe error that the other server returned was: 550 550 Address unknown (state 14).\n\n   ----- Original message -----\n",
        [(A, _C.PERMANENT, _R.RECIPIENT_UNKNOWN, None, 550)],
    ),
    "a list": ("Undelivered", f"The following recipients returned permanent errors: {A}. Reason: [554 5.4.6 Hop count exceeded]\n", [(A, _C.TEMPORARY, _R.DOMAIN_TROUBLE, "5.4.6", 554)]),
    "B20 names nobody": ("Undeliverable", "Sorry, it did not work out: 550 5.1.1 unknown user\n", [(None, _C.PERMANENT, _R.RECIPIENT_UNKNOWN, "5.1.1", 550)]),
    "away": ("Out of office", f"My colleague is {A}\n", [(None, _C.AUTO_REPLY, _R.AUTO_REPLY, None, None)]),
    "what flufl.bounce knows": (
        "Undelivered",
        f"There was a problem. Here is your list of failed recipients:\n\nThe first, {A[:1]}, is <{A}>, as you see\n\nhere is your returned mail\n",
        [(A, _C.PERMANENT, _R.UNKNOWN, None, None)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FORMS)
def test_a_report_in_plain_words_is_read(case: str, tmp_path: Path) -> None:
    subject, text, wanted = FORMS[case]
    parsed = read(
        f"From: MAILER-DAEMON@mx.example\nTo: us@y.example\nSubject: {subject}\n\n{text}",
        "",
        tmp_path,
    )
    assert parsed.report is not None
    assert [comes_to(one) for one in parsed.report.recipients] == wanted
    assert parsed.automation is AutomationKind.REPORT


def test_what_the_words_say_is_the_diagnostic(tmp_path: Path) -> None:
    parsed = read(
        f"From: MAILER-DAEMON@mx.example\nSubject: failure notice\n\n<{A}>:\n550 \x1b[31mno\n",
        "",
        tmp_path,
    )
    assert parsed.report is not None
    assert [one.diagnostic for one in parsed.report.recipients] == [f"<{A}>: 550  [31mno"]


def test_a_returned_header_names_whom_the_words_do_not(tmp_path: Path) -> None:
    parsed = read(
        f"From: MAILER-DAEMON@mx.example\nSubject: failed\nX-Failed-Recipients: {A}\n\n550 5.1.1 unknown user\n",
        "",
        tmp_path,
    )
    assert parsed.report is not None
    assert [comes_to(one) for one in parsed.report.recipients] == [UNKNOWN]


def test_b23_raw_octets_in_a_header_are_no_hindrance(tmp_path: Path) -> None:
    head = b"From: MAILER-DAEMON@mx.example\nSubject: failure notice \xe9\xff\nX-\xe9: \xff\n\n"
    parsed = read(head + f"<{A}>:\n550 5.1.1 unknown user\n".encode() + b"\xff\xfe\n", "", tmp_path)
    assert parsed.report is not None
    assert [comes_to(one) for one in parsed.report.recipients] == [UNKNOWN]
