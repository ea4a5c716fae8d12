"""`postroom-sendmail`: one message from standard input becomes one job, durable when the program ends with 0.

Standard library and our client only, and nothing that the command line has beyond that: it is started for every mail.
One sentence on stderr says what went wrong; the exit codes are those of sysexits.h, as callers of sendmail know them.
The job has its key before the first try, so the retries of the client never make two of it. Once it is taken, the program
ends with 0 whoever listens: a caller that was told of a failure would hand the mail over again.
"""

import io
import sys
import traceback
from collections.abc import Sequence
from typing import Any, BinaryIO, Final, TextIO

from postroom import __version__
from postroom.cli.exits import Exit, exit_for
from postroom.cli.sendmail.content import Content, read_content
from postroom.cli.sendmail.head import Head, read_head
from postroom.cli.sendmail.letter import Envelope, is_same, job_of
from postroom.cli.sendmail.mime import read_message
from postroom.cli.sendmail.options import Options, read_options
from postroom.cli.sendmail.queue import print_queue
from postroom.cli.sendmail.settings import USUAL, Settings, read_settings
from postroom.cli.sendmail.unfit import NAME, Unfit, harmless
from postroom.cli.streams import open_closed_output, silence
from postroom.client import Client
from postroom.client.errors import PostroomError
from postroom.client.host import Host


# A restarting daemon is back within seconds; whoever waits for us may be a web page.
_PATIENCE_S: Final = 10.0
# More than any relay takes.
_MOST_BYTES: Final = 100 * 1024 * 1024
_LONE_DOT: Final = frozenset({b".\n", b".\r\n", b"."})
_DOT_LONGEST: Final = 4  # one more than the longest of them
_USAGE: Final = f"""\
Usage: {NAME} [OPTIONS] [RECIPIENT ...] < MESSAGE
Takes what /usr/sbin/sendmail takes and hands the message to Postroom; see postroom-sendmail(1).
  -t       recipients are also those in To, Cc and Bcc
  -i       a line with a single dot does not end the message
  -f ADDR  the sender: its mailbox sends, if From names none
  -bp      list the mail that waits
  -v       print the id of the job, and what became of In-Reply-To and References
  -C FILE  the settings, instead of {USUAL}
"""


def main(argv: Sequence[str] | None = None, *, host: Host | None = None) -> int:
    """Run it; its exit code."""
    called, *words = sys.argv if argv is None else [NAME, *argv]
    open_closed_output()
    try:
        _run(read_options(called, words), host or Host())
        sys.stdout.flush()
    except Unfit as fault:
        return _fail(fault.code, str(fault))
    except PostroomError as fault:
        return _fail(exit_for(fault), str(fault).replace("/mailbox_id: ", ""))
    except BrokenPipeError:
        silence(sys.stdout)  # whoever read our output has seen enough
        return Exit.IO
    except OSError as fault:
        return _fail(Exit.IO, str(fault))
    except KeyboardInterrupt:
        return _fail(Exit.INTERRUPTED, "Interrupted.")
    except Exception:  # noqa: BLE001 - the last door: whatever comes here is ours to mend
        traceback.print_exc()
        return _fail(Exit.BUG, "This is a bug in Postroom; please report it with the lines above.")
    return Exit.OK


def _run(options: Options, host: Host) -> None:
    if options.asks_help or options.asks_version:
        sys.stdout.write(_USAGE if options.asks_help else f"{NAME} {__version__}\n")
        return
    settings = read_settings(options.settings)
    client = Client(settings.socket, retry_s=_PATIENCE_S, host=host)
    if options.lists_queue:
        print_queue(client)
        return
    if not options.recipients and not options.reads_recipients:
        raise Unfit(Exit.USAGE, "Name the recipients, or give -t for those in the header.")
    if sys.stdin is None:
        raise Unfit(Exit.NO_INPUT, "Standard input is closed: there is no message.")
    fields, message = read_message(_read(sys.stdin.buffer, ends_at_dot=options.ends_at_dot))
    head = read_head(fields)
    content = read_content(message)
    envelope = Envelope(options.recipients, options.reads_recipients, settings.local_to)
    mailbox_id, address = _mailbox(client, head, options, settings)
    job = {"mailbox_id": mailbox_id, **job_of(head, envelope, address)}
    taken = client.submit({**job, **_handed(client, content)})
    if options.is_verbose:
        _tell(sys.stdout, f"{taken['id']}\n")
        if head.is_answer:
            _tell(sys.stderr, f"{NAME}: {_chained(head)}\n")


def _read(stream: BinaryIO, *, ends_at_dot: bool) -> bytes:
    """The message, up to its end or the line with nothing but a dot."""
    if ends_at_dot:
        written = bytearray()
        # no line is longer than what may come; a last piece has room for a lone dot, so that no half of a line is one
        while line := stream.readline(_MOST_BYTES + _DOT_LONGEST - len(written)):
            if line in _LONE_DOT:
                break
            written += line
            if len(written) > _MOST_BYTES:
                break
        found = bytes(written)
    else:
        found = stream.read(_MOST_BYTES + 1)
    if len(found) > _MOST_BYTES:
        raise Unfit(Exit.BAD_DATA, f"The message has more than {_MOST_BYTES:,} bytes.")
    return found


def _mailbox(
    client: Client, head: Head, options: Options, settings: Settings
) -> tuple[str, str | None]:
    """Who sends: the mailbox with the address in From, else that of -f, else the one in the settings."""
    mailboxes = client.mailboxes()["items"]
    for wanted in (head.address, *reversed(options.senders)):
        there = [one for one in mailboxes if is_same(wanted, one.get("address"))]
        chosen = [one for one in there if one["id"] == settings.mailbox] or there
        if chosen:
            return chosen[0]["id"], chosen[0]["address"]
    if settings.mailbox is None:
        told = f"No mailbox has the sender's address: set `mailbox` in {options.settings or USUAL}, or POSTROOM_MAILBOX."
        raise Unfit(Exit.NO_MAILBOX, told)
    named = (one["address"] for one in mailboxes if one["id"] == settings.mailbox)
    return settings.mailbox, next(named, None)


def _handed(client: Client, content: Content) -> dict[str, Any]:
    """The content as a job has it; files are handed over before it."""
    fields: dict[str, Any] = {} if content.html is None else {"html": content.html}
    if content.text is not None or content.html is None:
        fields["text"] = content.text or ""
    attachments = []
    for file in content.files:
        staged = client.stage(io.BytesIO(file.octets), filename=file.filename)
        asked = {"ref": staged["ref"], "content_type": file.content_type, "inline": file.is_inline}
        attachments.append(
            asked if file.content_id is None else {**asked, "content_id": file.content_id}
        )
    return {**fields, "attachments": attachments} if attachments else fields


def _chained(head: Head) -> str:
    """What became of the ids that it named."""
    of = head.conversation
    where = "a conversation of its own" if of is None else f"the conversation {harmless(of)}"
    return f"In-Reply-To and References are not carried: the mail belongs to {where}."


def _fail(code: Exit, sentence: str) -> int:
    _tell(sys.stderr, f"{NAME}: {harmless(sentence)}\n")
    return code


def _tell(stream: TextIO, words: str) -> None:
    """What has happened is so whether it can be told or not."""
    try:
        stream.write(words)
        stream.flush()
    except OSError:
        silence(stream)


if __name__ == "__main__":
    sys.exit(main())
