"""The command line as a table, for what is made from it: completion for shells, and the manual pages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import click


_MAILBOX: Final = "--mailbox"
_LONGEST_HELP: Final = 500  # characters: longer than any first sentence


class Kind(StrEnum):
    """What a shell can offer for a value."""

    NOTHING = "nothing"
    FILES = "files"
    MAILBOXES = "mailboxes"
    WORDS = "words"


@dataclass(frozen=True, slots=True)
class Value:
    """What an option or an argument takes; `name` is how the help calls it."""

    name: str
    kind: Kind
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flag:
    """An option; `value` None = it takes none, `letter` "" = it has no short form."""

    name: str
    says: str
    value: Value | None
    letter: str = ""


@dataclass(frozen=True, slots=True)
class Spot:
    """A verb or a group, as it is typed behind the program's name; the program itself has no words."""

    words: tuple[str, ...]
    says: str
    text: str
    verbs: tuple[tuple[str, str], ...]
    flags: tuple[Flag, ...]
    arguments: tuple[Value, ...]


def spots(root: click.Group) -> Iterator[Spot]:
    """The program and everything below it, in its own order."""
    yield from _below(root, ())


def _below(command: click.Command, words: tuple[str, ...]) -> Iterator[Spot]:
    verbs = command.commands if isinstance(command, click.Group) else {}
    own = [one for one in command.params if isinstance(one, click.Option)]
    yield Spot(
        words,
        command.get_short_help_str(_LONGEST_HELP),
        (command.help or "").partition("\f")[0],
        tuple((name, one.get_short_help_str(_LONGEST_HELP)) for name, one in verbs.items()),
        (*(_flag(one) for one in own), Flag("--help", "Show what there is to type.", None, "-h")),
        tuple(_value(one) for one in command.params if isinstance(one, click.Argument)),
    )
    for name, one in verbs.items():
        yield from _below(one, (*words, name))


def _flag(option: click.Option) -> Flag:
    name = option.opts[-1]
    says = " ".join((option.help or "").split())
    letter = next((one for one in option.opts if not one.startswith("--")), "")
    return Flag(name, says, None if option.is_flag else _value(option), letter)


def _value(parameter: click.Parameter) -> Value:
    name = parameter.make_metavar(click.Context(click.Command(None)))
    match parameter.type:
        case click.Choice(choices=choices):
            return Value(name, Kind.WORDS, tuple(map(str, choices)))
        case click.Path():
            return Value(name, Kind.FILES)
        case _ if _MAILBOX in parameter.opts or re.fullmatch(r"\[?MAILBOX\]?", name):
            return Value(name, Kind.MAILBOXES)
        case _:
            return Value(name, Kind.NOTHING)
