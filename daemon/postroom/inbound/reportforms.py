"""How servers write reports in plain words, as data: what they say, how each names its recipients, and where it ends.

A row of FORMS is a kind of line, not a server: each is followed by the servers that write so. They are tried in this
order, and the first that names anybody is the one. Where the mail that came back begins, reading ends. Every expression
is tied to the beginning of a line or to a word, and each of its repetitions has a limit: linear on whatever a stranger
writes. Words and phrases are set apart by `|`. By which words a reason is known: `core.bouncewords`.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final


# Subjects of reports.
BOUNCED: Final = (
    "undeliver|not deliver|delivery status|delivery fail|delivery problem|delivery has|returned mail"
    "|failure notice|mail delivery|delayed|unzustellbar|non remis|no entregad|non recapit"
    "|onbestelbaar|niet bezorgd|недоставлен|не доставлено|退信"
)
# What stands in the text of reports.
REPORTS: Final = (
    "not be delivered|not deliver|undeliver|delivery failed|delivery failure|delivery error|unable to deliver"
    "|trouble delivering|error message below|returned permanent errors|was not relayed|mailbox is full"
    "|permanent error|fatal error|transcript of session|送信できませんでした|配信できませんでした|nicht zugestellt"
    "|(?:mail|message) has been returned|no such user|user unknown|unknown user|no user by that name|无法发送|无法送达|無法送達"
    "|pas pu être|no se ha podido entregar|no se pudo entregar|impossibile recapitare|não pôde ser entregue"
    "|не может быть доставлено|не удалось доставить|are not a member of this mailing list|considered unsolicited bulk"
)
# What a report says of a mail that arrived, unless it says of another that it did not.
ARRIVED: Final = (
    "successfully (?:delivered|relayed|sent) to|delivered successfully to|successful mail delivery"
    "|erfolgreich zugestellt|remis avec succès|entregado correctamente|consegnato correttamente"
)
NOT_ARRIVED: Final = "not (?:be )?deliver|undeliver|(?:unable|failed) to deliver|nicht zugestellt"
# What a receipt says that is none: a filter's way of sending a mail back (RFC 5429).
REJECTED: Final = (
    "automatically rejected|(?:was|been) (?:rejected|refused)|not be delivered|not delivered"
)
# What a report says of a mail that is still tried.
STILL_TRIED: Final = (
    "delayed|delivery delay|could not send message for past|could not send mail for past|could not be delivered for"
    "|still being retried|will be retried|will retry|will continue to|will keep trying|continue trying"
    "|warning message only"
    "|no action is required|not yet been delivered|has not yet|temporar(?!ily unavailable)|verzögert|wird weiterhin versucht"
    "|retardé|retrasad|ritardo|vertraagd"
)


class Said(Enum):
    """Where, seen from the address."""

    ABOVE = auto()
    BELOW = auto()
    AROUND = auto()  # below; where it is the only one, above, too


@dataclass(frozen=True, slots=True)
class Form:
    """How a recipient is written: the group of `line` is the address; and where the words on it stand."""

    id: str
    line: re.Pattern[str]
    said: Said


def _form(form_id: str, line: str, said: Said = Said.BELOW) -> Form:
    return Form(form_id, re.compile(line, re.IGNORECASE | re.MULTILINE), said)


_QUOTED: Final = r'"[^"\s<>@]{1,64}"@[\w.-]{1,253}'
_PLAIN: Final = r"[^\s<>()\[\],;:\"'@\\]{1,64}@[\w.-]{1,253}"
_BARE: Final = rf"({_QUOTED}|{_PLAIN})"
_BRACKETED: Final = rf"<({_QUOTED}|{_PLAIN})>"
_EITHER: Final = rf"<?{_BARE}>?"
_MARKED: Final = rf"[<\"']?{_BARE}[>\"']?"
_LEFT: Final = r"^[ \t>*]{0,12}"

FORMS: Final = (
    # Postfix, qmail, Yahoo, Courier, amavis, MXLogic, SendGrid, psmtp
    _form("bracketed and a colon", rf"{_LEFT}{_BRACKETED}[ \t]{{0,8}}(?:\(expanded from[^)]{{0,400}}\))?[ \t]{{0,8}}:"),
    # OpenSMTPD, Exim 2 and 3
    _form("bare and a colon", rf"{_LEFT}{_BARE}:(?=[ \t]|\r?$)"),
    # sendmail, McAfee, X1: what was said stands in brackets behind it
    _form("with a remark", rf"{_LEFT}{_MARKED}[ \t]{{1,8}}(?:\.\.\.|\[|\((?!expanded)|[45]\d\d |- |error,|invalid address|delivery failed|;)"),
    # Exchange 5.5, of one that its directory has in another form
    _form("X.400", rf"^[^\n@]{{0,160}}[:;/]smtp={_BARE};"),
    # Exchange 5.5 to 2003
    _form("with a date", rf"{_LEFT}{_BARE} on [^\n]{{6,40}}$"),
    # ActiveHunter
    _form("named and bracketed", rf"{_LEFT}[^\n<>]{{1,100}} {_BRACKETED}[ \t]{{0,8}}\r?$", Said.AROUND),
    # Exim, Gmail, sendmail, Domino, Exchange 2007 and later, Outlook.com, SES, GMX, Mimecast
    _form("on a line by itself", rf"{_LEFT}(?:- ?){{0,3}}(?:> )?{_MARKED}[ \t]{{0,8}}\r?$", Said.AROUND),
    # Exchange 2007 and later, Notes
    _form("linked", rf"{_LEFT}[^\n<>@]{{0,80}}?{_BARE}(?:\)| \([^\n()]{{1,320}}\))?<mailto:"),
    # sendmail 5
    _form("in a refusal", rf"^[245]\d\d[ -]{_BRACKETED}\.\.\.", Said.ABOVE),
    # ezweb, Messaging Server, SurfControl, MailMarshal, James, InterScan
    _form("behind a label", r"^[ \t*\[]{0,12}(?:recipient|recipient address|rcpt to|addressed to|final recipient|status: error, address|sent <<< rcpt to|>>> rcpt to)"
          rf":[ \t]{{0,8}}{_EITHER}"),
    # iMail, MailFoundry, Barracuda, KDDI, Verizon, ActiveHunter, many small ones
    _form("at the end of a sentence", rf"^[^\n:@]{{1,80}}:[ \t]{{0,8}}{_EITHER}[^\n@]{{0,20}}$"),
    # DragonFly, Google Workspace, InterScan
    _form("in a sentence", rf"\b(?:mail|message|mailbox|delivery|delivered|deliver|send|errors|gateway|nachricht|mensaje|messaggio|mensagem|bericht)\b[^\n<>@]{{0,40}} (?:to|for|of|an|à|a|para|aan) {_MARKED}"),
    # Aliyun, NetEase
    _form("behind a label, in Chinese", rf"(?:无法发送到|无法投递到|無法傳送到|收件人)[ \t:\uff1a]{{0,8}}{_EITHER}"),
    _form("a mailing list", rf"\bmailing list {_BRACKETED}"),
    _form("in a list", rf"\b(?:errors|recipients|addresses|users?): {_EITHER}"),
)  # fmt: skip

# Lines that stand above the mail that came back, or are its first.
RETURNED: Final = re.compile(
    r"^[ \t>|*=_-]{0,80}(?:"
    r"this is a copy of|below this line is a copy|below is a copy of|(?:enclosed|included|attached) (?:is|are) (?:a copy|the (?:original|headers?|first|message))"
    r"|original message(?: follows| headers| mail info|[ \t:-]{0,80}\r?$)|original mail info|the original message is over"
    r"|unsent message follows|message text follows|returned message|message headers follow"
    r"|the header of the original|(?:start of )?returned (?:mail|message)"
    r"|the first \d{1,4} lines of (?:your|the) (?:original )?message"
    r"|message header follows|old message[ \t]{0,8}:|copy of (?:the|your) message|message non-deliverable|-+ ?message body"
    r"|(?:return-path|received|x-received|dkim-signature|x-google-smtp-source|x-originating-ip):)",
    re.IGNORECASE | re.MULTILINE,
)

# A header of the mail that came back, in the middle of what is said of it: nobody in it is meant.
QUOTED_HEADER: Final = re.compile(
    r"^(?:[ \t>*]{0,12}(?:message-id|date|from|to|cc|subject|sent|reply-to)[ \t]{0,4}:[^\n]{0,998}\n){3,12}",
    re.IGNORECASE | re.MULTILINE,
)
# Whom an old server names as the sender, in the same way as a recipient.
SENDER: Final = re.compile(rf"sent by:?\s{{1,20}}{_EITHER}", re.IGNORECASE)
