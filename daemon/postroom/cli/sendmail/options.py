"""What /usr/sbin/sendmail is called with, as callers have called it for forty years: letters, alone, together or with a value.

A value stands behind its letter or is the next word; recipients may stand anywhere; `--` ends the letters. What says how
a queue is run, how errors are mailed or how a relay is spoken to is taken and means nothing here: the daemon decides that.
What asks for something else than to send, or to list what waits, is refused in words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

from postroom.cli.exits import Exit
from postroom.cli.sendmail.unfit import Unfit, harmless


# Most of them mean nothing here, and neither does their value.
_WITH_VALUE: Final = frozenset("ABCFLNORVXbefhopr")
_ALONE: Final = frozenset("GUcimntv")
_VALUE_BEHIND: Final = frozenset("dq")  # never the next word: -q30m, -d0.1

_MODES: Final = {
    "s": "-bs: it speaks no SMTP here; give the message on standard input.",
    "d": "-bd: the daemon is `postroom run`.",
    "i": "-bi: there is no table of aliases; local_to in the settings says who gets mail for local names.",
    "v": "-bv: addresses are judged when mail is handed over.",
}
_NO_RUN: Final = "-q: the queue needs nobody to run it, the daemon sends by itself."
_AS: Final = {"mailq": "-bp", "newaliases": "-bi"}  # names that sendmail goes by


@dataclass(slots=True)
class Options:
    """What was asked for. `senders` are those named with -f or -r, the last one last; `settings` is what -C names."""

    recipients: list[str] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)
    settings: str | None = None
    reads_recipients: bool = False
    ends_at_dot: bool = True
    lists_queue: bool = False
    is_verbose: bool = False
    asks_help: bool = False
    asks_version: bool = False


def read_options(called: str, words: Sequence[str]) -> Options:
    """What the words mean, under the name by which the program was called.

    Raises: Unfit, with what is wrong.
    """
    found = Options()
    given = iter([_AS[name]] if (name := PurePath(called).name) in _AS else words)
    for word in given:
        match word:
            case "--":
                found.recipients += given
            case "--help":
                found.asks_help = True
            case "--version":
                found.asks_version = True
            case _ if word.startswith("-") and len(word) > 1:
                _read_letters(word[1:], given, found)
            case _:
                found.recipients.append(word)
    return found


def _read_letters(letters: str, words: Iterator[str], found: Options) -> None:
    for at, letter in enumerate(letters):
        if letter in _ALONE:
            _take(letter, found)
            continue
        value = letters[at + 1 :]
        if letter in _WITH_VALUE:
            value = value or _next(letter, words)
        elif letter not in _VALUE_BEHIND:
            raise Unfit(Exit.USAGE, f"There is no option -{harmless(letter)}.")
        _take_value(letter, value, found)
        return


def _next(letter: str, words: Iterator[str]) -> str:
    value = next(words, None)
    if value is None:
        raise Unfit(Exit.USAGE, f"The option -{letter} needs a value.")
    return value


def _take(letter: str, found: Options) -> None:
    match letter:
        case "t":
            found.reads_recipients = True
        case "i":
            found.ends_at_dot = False
        case "v":
            found.is_verbose = True
        case _:
            pass  # -G -U -c -m -n: how a queue of old days was to treat it


def _take_value(letter: str, value: str, found: Options) -> None:
    match letter:
        case "f" | "r":
            found.senders.append(value)
        case "C":
            found.settings = value
        case "b":
            _take_mode(value, found)
        case "q":
            raise Unfit(Exit.USAGE, _NO_RUN)
        case "o":
            _take(value[:1], found)  # -oi, -ot and -ov are -i, -t and -v
        case _:
            pass  # what else is asked for, the daemon decides


def _take_mode(value: str, found: Options) -> None:
    mode = value[:1]
    if mode == "p":
        found.lists_queue = True
    elif mode != "m":  # which it is anyway
        told = _MODES.get(mode, f"There is no mode -b{harmless(value)} here.")
        raise Unfit(Exit.USAGE, told)
