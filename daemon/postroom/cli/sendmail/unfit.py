"""What ends a call before the daemon is asked, or instead of asking it."""

from typing import Final

from postroom.cli.exits import Exit


NAME: Final = "postroom-sendmail"


class Unfit(Exception):
    """It can not be done as asked; the text is one sentence for a log, `code` what the caller is told."""

    def __init__(self, code: Exit, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


def harmless(text: str) -> str:
    """The text as one line without anything that a terminal or a log would act on."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
