"""What somebody types at the command line: a mail, a completion, and standard input."""

import io


SEND = ["send", "--mailbox", "support", "--to", "ann@example.com", "--subject", "Hi", "--text", "x"]
COMPLETE = ["events", "complete", "lse_1", "--fence", "3"]


class Stdin(io.TextIOWrapper):
    """Standard input with these bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")
