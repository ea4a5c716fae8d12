"""Replies of relays, as the reader of outcomes gets them."""

import re

from postroom.core.outcome import Verdict, classify
from postroom.core.reply import SmtpReply, Stage


def a_reply(line: str) -> SmtpReply:
    code, _, text = line.partition(" ")
    found = re.match(r"([245]\.\d{1,3}\.\d{1,3}) ", text)
    return SmtpReply(int(code), found and found[1], text, line.encode())


def read(stage: str, line: str) -> Verdict:
    verdict = classify(
        Stage(stage), a_reply(line), is_marked=stage == "dot", is_dotted=stage == "dot"
    )
    assert verdict is not None
    return verdict
