"""The manual pages that are made from the code: postroom(1) from the command line, postroom.toml(5) from the shipped settings.

They are written in mdoc(7): one sentence a line, lines of at most 78 characters, everything beyond ASCII by its number.
"""

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from postroom.cli.exits import MEANINGS
from postroom.cli.tree import root
from postroom.cli.wordtree import Flag, Spot, spots
from support.config_files import ROOT


DATE = "November 30, 2026"
PAGES = ROOT / "man"

_COMMAND = """\
.\\" Made from the command line: POSTROOM_GOLDEN=write, then tests/test_manual.py.
.Dd {date}
.Dt POSTROOM 1
.Os
.Sh NAME
.Nm postroom
.Nd durable mail queue for agents and local programs
.Sh SYNOPSIS
.Nm
.Op Fl -socket Ar PATH | Fl -config Ar FILE
.Ar VERB
.Op Ar OPTION ...
.Sh DESCRIPTION
Mail that programs hand over is queued durably, sent through the relays of its
mailboxes, and accounted for; answers and bounces come back into conversations.
.Nm Cm run
is the daemon, the other verbs speak with it over its socket.
.Pp
Where the option is not told apart, every verb that speaks with the daemon has:
.Bl -tag -width Ds
{everywhere}
.El
.Pp
Without a verb:
.Bl -tag -width Ds
{alone}
.El
.Sh VERBS
{verbs}
.Sh ENVIRONMENT
.Bl -tag -width Ds
.It Ev POSTROOM_SOCKET
The socket of the daemon, where no option names it.
.It Ev NO_COLOR
Print without colours.
.It Ev CREDENTIALS_DIRECTORY
Where secrets are read that the settings call
.Ql credential:NAME .
.El
.Sh FILES
.Bl -tag -width Ds
.It Pa /etc/postroom/postroom.toml
The settings.
.It Pa /run/postroom/api.sock
The socket.
.It Pa /var/lib/postroom
The queue.
.El
.Sh EXIT STATUS
.Bl -tag -width Ds
{exits}
.El
.Sh SEE ALSO
.Xr postroom-sendmail 1 ,
.Xr postroom.toml 5
"""
_SETTINGS = """\
.\\" Made from config/postroom.toml: POSTROOM_GOLDEN=write, then tests/test_manual.py.
.Dd {date}
.Dt POSTROOM.TOML 5
.Os
.Sh NAME
.Nm postroom.toml
.Nd settings of the mail queue Postroom
.Sh DESCRIPTION
{intro}
.Sh SETTINGS
{sections}
.Sh FILES
.Bl -tag -width Ds
.It Pa /etc/postroom/postroom.toml
The settings.
.It Pa /etc/postroom/mailboxes.d/*.toml
More of them: mailboxes and relays.
.El
.Sh SEE ALSO
.Xr postroom 1
"""


@dataclass
class Section:
    """A table of the settings: what stands before it, and groups of settings under one comment."""

    name: str
    intro: list[str]
    groups: list[tuple[list[str], list[str]]] = field(default_factory=list)


def command_page() -> str:
    """postroom(1)."""
    tree = list(spots(root))
    (usual,) = [spot.flags for spot in tree if spot.words == ("stats",)]
    alone = [flag for flag in tree[0].flags if flag not in usual]
    return _COMMAND.format(
        date=DATE,
        everywhere=_lines(map(_item, usual)),
        alone=_lines(map(_item, alone)),
        verbs=_lines(_verb(spot, usual) for spot in tree if spot.words),
        exits=_lines(f".It {code.value}\n{prose(f'{says}.')}" for code, says in MEANINGS.items()),
    )


def settings_page(shipped: Path = ROOT / "config" / "postroom.toml") -> str:
    """postroom.toml(5)."""
    intro, sections = read_sections(shipped.read_text("utf-8"))
    return _SETTINGS.format(
        date=DATE, intro=prose(" ".join(intro)), sections=_lines(map(_section, sections))
    )


def read_sections(text: str) -> tuple[list[str], list[Section]]:
    """The comment at the top, and what follows it table by table."""
    blocks = [block.splitlines() for block in text.split("\n\n")]
    intro = [line[2:] for line in blocks[0]]
    return intro, [_read_section(block) for block in blocks[1:]]


def prose(text: str) -> str:
    """Running text as lines of a page."""
    escaped = text.replace("\\", "\\e").replace("--", "\\-\\-")
    quoted = _ascii(re.sub("`([^`]*)`", r"\\(oq\1\\(cq", escaped))
    sentences = re.split(r"(?<=[.!?]) +(?=[^a-z])", " ".join(quoted.split()))
    lines = [
        line
        for one in sentences
        for line in textwrap.wrap(one, 78, break_long_words=False, break_on_hyphens=False)
    ]
    return "\n".join(f"\\&{line}" if line[:1] in {".", "'"} else line for line in lines)


def _read_section(lines: Sequence[str]) -> Section:
    section = Section("", [])
    comment: list[str] = []
    for line in lines:
        if line.startswith("# "):
            if section.groups and section.groups[-1][1]:
                section.groups.append(([], []))
            comment.append(line[2:])
            continue
        if line.startswith("#["):
            section = Section(line[1:], comment)
            comment = []
            continue
        if comment or not section.groups:
            section.groups = [*(one for one in section.groups if one[1]), (comment, [])]
            comment = []
        section.groups[-1][1].append(line[1:])
    return section


def _section(section: Section) -> str:
    lines = [f".Ss {_word(section.name)}\\&"]
    lines += [prose(" ".join(section.intro))] if section.intro else []
    lines.append(".Bl -tag -width Ds")
    for comment, settings in section.groups:
        lines += [f".It Li {_word(one)}" for one in settings]
        lines += [prose(" ".join(comment))] if comment else []
    return "\n".join([*lines, ".El"])


def _verb(spot: Spot, usual: Sequence[Flag]) -> str:
    """A verb with what is its own; `usual` are the options that are told for all."""
    words = " ".join(spot.words)
    arguments = "".join(f" Ar {_word(one.name)}" for one in spot.arguments)
    own = [flag for flag in spot.flags if flag not in usual]
    shape = f".Nm Cm {words}" + (" Op Ar OPTION ..." if own else "") + arguments
    text = [prose(one) for one in spot.text.split("\n\n")]
    lines = [f".Ss {words}", shape, ".Pp", "\n.Pp\n".join(text)]
    if own:
        lines += [".Bl -tag -width Ds", *map(_item, own), ".El"]
    return "\n".join(lines)


def _item(flag: Flag) -> str:
    value = flag.value
    takes = "" if value is None else f" Ar {_word('|'.join(value.words) or value.name)}"
    short = f" , Fl {flag.letter[1:]}" if flag.letter else ""
    return f".It Fl {flag.name[1:]}{short}{takes}" + (f"\n{prose(flag.says)}" if flag.says else "")


def _word(text: str) -> str:
    """Text as one argument of a macro."""
    plain = _ascii(text.replace("\\", "\\e").replace('"', "\\(dq"))
    return f'"{plain}"' if " " in plain else plain


def _ascii(text: str) -> str:
    return "".join(one if one.isascii() else f"\\[u{ord(one):04X}]" for one in text)


def _lines(pieces: Iterable[str]) -> str:
    return "\n".join(pieces)
