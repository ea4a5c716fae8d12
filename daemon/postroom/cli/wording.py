"""Small things as people read them: instants, what a server said, and what this program is called here."""

import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

from postroom.cli.paper import plain


_NAME: Final = "postroom"
_INSTANT: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z", re.ASCII)


def short(instant: object) -> object:
    """An instant without its fraction of a second; anything else as it is."""
    found = _INSTANT.fullmatch(plain(instant))
    return f"{found[1]}Z" if found else instant


def command() -> str:
    """What to type here to call this program: its name where the shell finds it by that, else where it lies."""
    here = Path(sys.argv[0])
    found = shutil.which(_NAME)
    if here.name != _NAME or (found is not None and Path(found).resolve() == here.resolve()):
        return _NAME
    return shlex.quote(str(here.absolute()))


def said(code: object, enhanced: object, text: object) -> str:
    """The parts of an SMTP reply as one harmless line: code, enhanced status (once, the text may begin with it) and text."""
    status, words = plain(enhanced), plain(text)
    parts = (plain(code), "" if words.startswith(status) else status, words)
    return " ".join(part for part in parts if part)
