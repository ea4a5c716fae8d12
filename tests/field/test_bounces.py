"""Reports of some seventy systems, where their collection lies beside the checkout: what we read against its table.

A status of the form x.0.9yy is that table's own invention for a report that has none, and is not compared. A delay is
never hard (`Action: delayed`, and warnings that say so). Every other difference is listed with the line that decides.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Final

import pytest

from postroom.core.bouncereason import PUBLISHED, BounceClass, BounceReason
from postroom.core.inmail import AutomationKind, InMail
from postroom.inbound.reading import read_mail


CORPUS = next(
    (
        folder / "shared" / "corpus"
        for folder in Path(__file__).resolve().parents
        if (folder / "shared" / "corpus").is_dir()
    ),
    None,
)
pytestmark = pytest.mark.skipif(CORPUS is None, reason="the collections are not here")

SHARE: Final = 0.03
PERMUTED_MOST: Final = 7


@dataclass(frozen=True, slots=True)
class Row:
    """What is said of one recipient: of the table, or of us."""

    status: str
    code: str
    reason: BounceReason
    is_hard: bool
    is_delayed: bool = False

    def differs(self, wanted: "Row") -> bool:
        is_made_up = not wanted.status or wanted.status[1:5] == ".0.9"
        return (
            (not is_made_up and self.status != wanted.status)
            or self.code != wanted.code
            or self.reason is not wanted.reason
            or (self.is_hard != wanted.is_hard and not self.is_delayed)
        )


# The line that decides, and whose view is right.
DIFFERENCES: Final = {
    "arf-26.eml": "a person's mail program asks to be taken off a list: no report, and hers to read. Ours.",
    "lhost-exim-56.eml": "`554 … daily relay quota`: a matter of how much we send. Ours.",
    "lhost-ezweb-02.eml": "`550 user unknown (in reply to RCPT TO`; above it `account is disabled`. Theirs for the reason; the code is there.",
    "lhost-postfix-77.eml": "`Email address is not verified`: the sender's, so `sender_refused`, as when a relay says it. Ours.",
    "lhost-sendmail-13.eml": "`maildrop: maildir over quota`: full, whatever the program's exit code. Ours.",
    "lhost-sendmail-56.eml": "`554 … not accepting connections`; their 421 answers QUIT. Ours.",
    "lhost-v5sendmail-05.eml": "`421 … Connection reset by peer` stands beside the address, `550 … redundant` two lines above. Either.",
    "lhost-verizon-02.eml": "`550 - … no such user here`: the same words are `filtered` in lhost-apachejames-01. Either.",
    "rfc3464-01.eml": "`550 5.1.1 … User Unknown` is the field, `Not enough disk space` a word of another host. Ours.",
    "rfc3464-28.eml": "two reports in one file; a mail that comes in is one. Ours.",
    "rhost-nttdocomo-02.eml": "`550 Unknown user` after the content: the same is `filtered` in lhost-sendmail-19. Ours.",
}  # fmt: skip


def table() -> dict[str, list[Row]]:
    wanted: dict[str, list[Row]] = defaultdict(list)
    if CORPUS is not None:
        for line in (CORPUS / "bounces.tsv").read_text("utf-8").splitlines()[1:]:
            name, status, code, reason, hard = line.split("\t")
            wanted[name].append(Row(status, code, PUBLISHED[reason], hard == "1"))
    return wanted


def said(mail: InMail) -> list[Row]:
    if mail.report is None:
        is_away = mail.automation is AutomationKind.AUTO_REPLY
        return [Row("", "", BounceReason.AUTO_REPLY, is_hard=False)] if is_away else []
    return [
        Row(
            one.status or "",
            str(one.reply_code or ""),
            one.sense.reason,
            one.sense.is_hard,
            one.sense.class_ is BounceClass.DELAYED,
        )
        for one in mail.report.recipients
    ]


def differing(ours: list[Row], wanted: list[Row]) -> int:
    """How many rows of the table we do not have so, in the order that fits best; further ones count, too."""
    missing = max(0, len(wanted) - len(ours))
    orders = permutations(ours, len(wanted) - missing)
    fitting = orders if len(ours) <= PERMUTED_MOST else iter([tuple(ours)])
    wrong = min(
        (
            sum(one.differs(two) for one, two in zip(order, wanted, strict=False))
            for order in fitting
        ),
        default=0,
    )
    return wrong + missing + max(0, len(ours) - len(wanted))


def test_what_reports_say_is_read_as_the_published_table_has_it(tmp_path: Path) -> None:
    assert CORPUS is not None
    wanted = table()
    found = {
        name: differing(
            said(read_mail((CORPUS / "bounces" / name).read_bytes(), "", tmp_path)), rows
        )
        for name, rows in wanted.items()
    }
    assert {name for name, count in found.items() if count} == set(DIFFERENCES)
    assert sum(found.values()) <= SHARE * sum(map(len, wanted.values()))


def test_a_report_of_the_collection_never_ends_an_address_for_what_is_about_us(
    tmp_path: Path,
) -> None:
    assert CORPUS is not None
    gone = {PUBLISHED[name] for name in ("userunknown", "hasmoved", "hostunknown", "notaccept")}
    ended = [
        name
        for name, rows in table().items()
        if not gone & {row.reason for row in rows} and name not in DIFFERENCES
        for one in [read_mail((CORPUS / "bounces" / name).read_bytes(), "", tmp_path).report]
        if one is not None
        and any(block.sense.suppression not in {None, "complaint"} for block in one.recipients)
    ]
    assert ended == []
