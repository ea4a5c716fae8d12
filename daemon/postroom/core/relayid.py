"""What a relay called a message in the text of its 2xx reply to the final dot: free text, read by its usual forms."""

import re
from typing import Final

from postroom.core.reply import SmtpReply


_FORMS: Final = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"queued as ([^\s<>;,()]+)",  # Postfix, Haraka, many others
        r"\[InternalId=([^\s<>,\]]+)",  # Exchange
        r"\bid[=: ]<?([^\s<>;,()]+)",  # Exim and its kin
        r"\bok\s+\d{9,}\s+(\S+?)\s*-?\s*gsmtp",  # Gmail: a clock, then the name
        r"^(?:2\.\d+\.\d+ )?ok:? <?([0-9a-z][0-9a-z._@+=/-]{7,})>?",  # SES: Ok and the bare name
        r"^(?:2\.\d+\.\d+ )?<?((?=\S*\d)[0-9a-z][0-9a-z._+=/-]{5,})>? (?:message accepted|queued|accepted)",
        r"message accepted(?: for delivery)? as <?([0-9a-z][^\s<>]{5,})>?",
    )
)
_LONGEST: Final = 255


def relay_message_id(reply: SmtpReply | None) -> str | None:
    """The relay's own name for the message, at most 255 characters; None where the reply has none."""
    if reply is None:
        return None
    for form in _FORMS:
        found = form.search(reply.text)
        if found is not None:
            return found.group(1).rstrip(".")[:_LONGEST]
    return None
