"""Quotations as the programs of the world make them, in many languages (CASES D01, D02, D04, D05, D13, D14, D19)."""

import pytest

from postroom.core.inmail import TextConfidence
from postroom.inbound.newtext import find_new
from support.quoting import MARKED, PROVING


MARKS = "> Is it resolved?\n>\n> Yours\n"
PLAIN = "Is it resolved?\n\nYours\n"
ALL = {**MARKED, **PROVING}


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
@pytest.mark.parametrize("client", ALL)
def test_what_stands_above_marked_lines_is_new(client: str, gap: str) -> None:
    new = find_new(f"Yes, we will.{gap}{ALL[client]}{gap}{MARKS}")
    assert new.text.strip() == "Yes, we will."
    assert new.confidence is TextConfidence.HIGH


@pytest.mark.parametrize("client", ALL)
def test_what_stands_below_marked_lines_is_new(client: str) -> None:
    new = find_new(f"{ALL[client]}\n{MARKS}\nYes, we will.\n")
    assert new.text.strip() == "Yes, we will."
    assert new.confidence is TextConfidence.HIGH


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
@pytest.mark.parametrize("client", PROVING)
def test_what_stands_above_an_unmarked_quotation_is_new(client: str, gap: str) -> None:
    new = find_new(f"Yes, we will.{gap}{PROVING[client]}{gap}{PLAIN}")
    assert new.text.strip() == "Yes, we will."
    assert new.confidence is TextConfidence.HIGH


@pytest.mark.parametrize("client", ALL)
def test_a_header_that_is_itself_marked_is_quoted(client: str) -> None:
    marked = "".join(f"> {line}\n" for line in ALL[client].split("\n"))
    new = find_new(f"Yes, we will.\n\n{marked}>\n{MARKS}")
    assert new.text.strip() == "Yes, we will."


@pytest.mark.parametrize("client", PROVING)
def test_an_older_quotation_inside_changes_nothing(client: str) -> None:
    inside = f"{PLAIN}\n{PROVING['Outlook']}\n\nOlder.\n\n{PROVING['Gmail']}\n> Oldest.\n"
    new = find_new(f"Yes, we will.\n\n{PROVING[client]}\n\n{inside}")
    assert new.text.strip() == "Yes, we will."


WHOLE = {
    "D14 without an empty line": f"Yes.\n{PROVING['Windows Live Mail']}\nIs it?\n",
    "D20 a delimiter of a tracker": "Yes.\n\nOn 3 Jan 2022 10:00, tracker@x.example wrote:\n>--- Reply above. Do not remove this line. ---\n>\n> Ticket 1\n",
    "D20 marked many times": "Yes.\n\n> On 3 Jan 2022, tracker wrote:\n> > >--- Reply above. Do not remove this line. ---\n> > >\n> > > Ticket 1\n",
    "bars": "Yes.\n\n2022/1/3 Bob <bob@x.example>\n\n| Is it?\n|\n| Yours\n| .\n|\n",
    "a quotation first whose header is marked": f"> {PROVING['Gmail']}\n>\n> Is it?\n\nYes.\n",
    "CR LF": f"Yes.\r\n\r\n{PROVING['Gmail']}\r\n\r\n> Is it?\r\n",
    "indented marks": f"Yes.\n\n{PROVING['Gmail']}\n   > Is it?\n   > Is it?\n",
    "marks without blanks": f"Yes.\n\n{PROVING['Gmail']}\n>Is it?\n>>Is it?\n",
    "nested marks whose header is folded": f"Yes.\n\n{PROVING['Gmail']}\n\n> Is it?\n>\n> On 2 Jan 2022, Alice <alice@y.example\n> > wrote:\n>\n>> It is.\n",
    "runs with empty lines between": f"Yes.\n\n{PROVING['Gmail']}\n> One\n\n> Two\n\n\n> Three\n",
    "a signature and a telephone": f"Yes.\n\n-- \nAlice\n\nSent from my iPhone\n\n{PROVING['Gmail']}\n> Is it?\n",
    "a rule of equals signs": f"Yes.\n\n===============\n{PROVING['Outlook in German']}\n\nIst es?\n",
    "David": "Yes.\n\nOriginal Message processed by david\u00ae\nReport 3. January 2022, 10:00\nFrom Bob Example\nTo Alice\n\nIs it?\n",
    "a soft hyphen and a zero-width blank": f"Yes.\n\n\u200b{PROVING['Gmail']}\u200b\n\u200b\n> Is it?\n",
}  # fmt: skip


@pytest.mark.parametrize("case", WHOLE)
def test_only_the_answer_is_new(case: str) -> None:
    assert find_new(WHOLE[case]).text.strip() == "Yes."
