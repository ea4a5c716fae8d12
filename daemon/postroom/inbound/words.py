"""Every reply of the listener. docs/receiving.md is held against this list by a test.

Rules: trouble of ours is 4yz, never 5yz; no reply says anything about our inside, and none repeats a stranger's text.
"""

from enum import StrEnum
from typing import Final


OK: Final = "250 2.0.0 Ok"
# What browsers and scanners say (HAZARDS S6); they are not worth an answer.
OTHER_PROTOCOLS: Final = frozenset(
    {"GET", "POST", "PUT", "HEAD", "OPTIONS", "CONNECT", "DELETE", "PATCH", "TRACE", "PRI"}
)
NOT_OFFERED: Final = frozenset({"VRFY", "EXPN", "HELP", "AUTH", "ETRN", "TURN", "BDAT"})


class Reply(StrEnum):
    """What a client is told; the code, the enhanced status (RFC 3463) and words."""

    MAIL_OK = "250 2.1.0 Ok"
    RCPT_OK = "250 2.1.5 Ok"
    BYE = "221 2.0.0 Bye"
    GO_AHEAD = "354 End data with <CR><LF>.<CR><LF>"
    TOO_BUSY = "421 4.7.0 Too many connections, try again later"
    TOO_FAST = "421 4.7.0 Too many connections in a minute, try again later"
    TOO_MANY_ERRORS = "421 4.7.0 Too many errors"
    TOO_MANY_COMMANDS = "421 4.7.0 Too many commands without a mail"
    ROOM_NEEDED = "421 4.3.2 Others need the place, try again later"
    STOPPING = "421 4.3.2 The service is stopping, try again later"
    IDLE = "421 4.4.2 Nothing came for too long"
    SLOW = "421 4.4.2 The content comes too slowly"
    LINE_ENDLESS = "421 4.5.2 The line has no end"
    LOCAL_TROUBLE = "451 4.3.0 A temporary problem of this server, try again later"
    KEY_LOST = "451 4.3.0 The recipient can not be looked up now, try again later"
    TOO_MANY_RECIPIENTS = "452 4.5.3 Too many recipients, send the others in another mail"
    STORAGE_FULL = "452 4.3.1 No room for the mail now, try again later"
    NO_TLS = "454 4.7.0 TLS is not available"
    BAD_COMMAND = "500 5.5.2 The command is not understood"
    COMMAND_LONG = "500 5.5.2 The line is too long"
    BARE_LF = "500 5.5.2 A line ends with CR and LF"
    LINE_LONG = "500 5.6.0 A line of the content is too long"
    BAD_ARGUMENT = "501 5.5.4 The argument is wrong"
    NOT_OFFERED = "502 5.5.1 The command is not offered here"
    HELLO_FIRST = "503 5.5.1 Say EHLO first"
    MAIL_FIRST = "503 5.5.1 Say MAIL first"
    RCPT_FIRST = "503 5.5.1 There is no recipient yet"
    MAIL_TWICE = "503 5.5.1 There is a MAIL already"
    TLS_TWICE = "503 5.5.1 TLS is there already"
    UNKNOWN = "550 5.1.1 There is no such recipient here"
    FOREIGN = "550 5.7.1 This server takes no mail for others"
    TOO_BIG = "552 5.3.4 The mail is too large"
    BAD_ADDRESS = "553 5.1.3 The address is wrong"
    NEEDS_UTF8 = "553 5.6.7 The address needs SMTPUTF8"
    LOOP = "554 5.4.6 The mail has gone through too many servers: it is in a loop"
    BAD_PARAMETER = "555 5.5.4 A parameter is not known here"

    @property
    def refusal(self) -> str:
        """Its name where it refuses something, for counting; empty where it does not."""
        return self.name.lower() if self.startswith(("4", "5")) else ""
