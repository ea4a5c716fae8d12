"""What relays do (CASES F): each kind has its dialogue or its test, and none of them is without a kind."""

import re
from pathlib import Path

import pytest


TESTS = Path(__file__).resolve().parents[1]
DIALOGUES = TESTS / "dialogues"
REPLIES = "e2e/test_replies_of_relays.py"
TROUBLE = "e2e/test_relays_in_trouble.py"

# `name*` = dialogues of that name; `file::words` = a test or a row of that file.
SHOWN = {
    "F01 lost or silent after the dot": ("F01-*", "tarpit-after-the-dot"),
    "F02 lost before the 354": ("F02-*",),
    "F04 a refusal for one, a deferral for another": (
        f"{REPLIES}::test_each_recipient_keeps_its_own_answer",),
    "F05 refused, then gone": ("F05-*",),
    "F07 a stray line": ("F07-*", "endless-noise-*"),
    "F08 a domain is tired of us": ("F08-*", f"{REPLIES}::F08 Yahoo is tired of us"),
    "F10 too many for one, for a domain, for today": (
        "F10-*", f"{REPLIES}::F10 Gmail: unusual rate", f"{REPLIES}::F10 Gmail: one reader gets too much",
        f"{REPLIES}::F10 Gmail: peak of the relay", f"{REPLIES}::F10 Gmail: enough for today"),
    "F11 too fast": ("F11-*", f"{REPLIES}::F11 SES throttles", "e2e/test_throttles.py::F11 SES"),
    "F13 a deferral without end": (
        f"{REPLIES}::F13 over quota",
        f"{REPLIES}::test_a_mailbox_that_stays_full_or_unknown_is_given_up_after_a_day"),
    "F14 unknown, for now": (
        f"{REPLIES}::F14 unknown, for now",
        f"{REPLIES}::test_a_mailbox_that_stays_full_or_unknown_is_given_up_after_a_day"),
    "F16 full or too big": (
        f"{REPLIES}::F16 552 mailbox full", f"{REPLIES}::F16 552 too big",
        f"{REPLIES}::F16 552 and no more", "unfit-too-big"),
    "F17 greylisted": ("F17-*", f"{REPLIES}::F17 greylisted, 300 s stated", f"{REPLIES}::F17 greylisted for good"),
    "F19 refused at MAIL or DATA": (
        "F19-*", "data-refused", f"{REPLIES}::F19 refused at MAIL", f"{REPLIES}::F19 refused at DATA",
        f"{TROUBLE}::test_three_refusals_at_mail_stop_the_mailbox_before_a_backlog_is_lost"),
    "F20 a login refused": ("F20-*", f"{TROUBLE}::test_a_wrong_password_stops_the_relay_and_fails_nobody"),
    "F22 what is no reply": ("F22-*", "endless-line*"),
    "F23 no room on the relay": (f"{REPLIES}::F23 no room on the relay",),
    "F25 a return path too long": (
        "config/test_listener.py::test_the_longest_local_part_is_taken_and_one_beyond_40_is_warned_of",),
    "F26 gone after QUIT, or silent from the first": ("F26-*", "tarpit-in-the-greeting"),
    "F28 not there, by name or by address": (
        f"{TROUBLE}::test_a_relay_that_is_not_well_costs_no_attempt",
        f"{TROUBLE}::test_a_relay_that_is_not_there_at_all_costs_no_attempt",
        "outbound/test_dialling.py::test_a_host_without_an_address_is_a_fault"),
    "F29 the quota of an organization": (f"{REPLIES}::F29 quota of an organization",),
}  # fmt: skip
IDS = {name.split()[0] for name in SHOWN}


@pytest.mark.parametrize("kind", SHOWN)
def test_every_kind_of_relay_is_played(kind: str) -> None:
    for shown in SHOWN[kind]:
        file, is_test, words = shown.partition("::")
        if is_test:
            assert words in (TESTS / file).read_text(), shown
        else:
            assert list(DIALOGUES.glob(f"{file}.txt")), shown


def test_the_kinds_are_those_of_the_cases() -> None:
    numbers = (1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28, 29)
    assert {f"F{number:02}" for number in numbers} == IDS


def test_no_dialogue_and_no_reply_is_of_a_kind_that_is_not_listed() -> None:
    named = {path.name[:3] for path in DIALOGUES.glob("F[0-9]*")}
    named |= set(re.findall(r"\bF\d\d\b", (TESTS / REPLIES).read_text()))
    assert named <= IDS
