"""Shells at a terminal of ours: what they make of keys."""

import os
import pty
import select
import subprocess
from pathlib import Path

from support.peers import needs_peer


# It tells the line that was completed, and what the daemon knows of mailboxes.
PROGRAM = """\
postroom() {
    if [ "$1 $2" = 'completion mailboxes' ]; then printf 'support\\nsales\\n'
    elif [ "$*" = '--socket /run/b.sock completion mailboxes' ]; then printf 'elsewhere\\n'
    elif [ "$*" = '--config a b.toml completion mailboxes' ]; then printf 'by_settings\\n'
    else printf '<%s>' "$@"; echo; fi
}
"""
START = {
    "bash": (["--norc", "--noprofile", "-i"], "bind 'set enable-bracketed-paste off'"),
    "zsh": (["-f", "-i"], "unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D"),
}
_ANSWER_S = 30


def type_in(shell: str, script: Path, keys: str, folder: Path) -> str:
    """What the line that these keys make comes to, as the words that the program got."""
    words, ready = START[shell]
    (folder / "program").write_text(PROGRAM)
    ours, its = pty.openpty()
    env = {**os.environ, "TERM": "dumb", "PS1": "", "HISTFILE": "/dev/null", "ZDOTDIR": "/dev/null"}
    process = subprocess.Popen(
        [needs_peer("setsid"), "--ctty", needs_peer(shell), *words],
        stdin=its,
        stdout=its,
        stderr=its,
        cwd=folder,
        env=env,
    )
    os.close(its)
    try:
        _say(ours, f"{ready}; . {script}; . ./program; echo re''ady\n")
        _read_to(ours, "ready")
        _say(ours, f"{keys}\necho do''ne\n")
        return _read_to(ours, "done")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _say(terminal: int, text: str) -> None:
    os.write(terminal, text.encode())


def _read_to(terminal: int, word: str) -> str:
    read = ""
    while word not in read:
        there, _, _ = select.select([terminal], [], [], _ANSWER_S)
        assert there, read
        read += os.read(terminal, 65_536).decode("utf-8", "replace")
    return read
