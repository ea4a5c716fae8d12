"""`postroom`: what starts, before anything that takes a moment to import.

Known limits: a signal that comes while Python itself is starting meets Python's own rules.
"""

import sys
from collections.abc import Sequence

from postroom.cli.patience import keep_signals


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; its exit code."""
    keep_signals()
    from postroom.cli.tree import main as run  # noqa: PLC0415 - a fifth of a second

    return run(argv)


if __name__ == "__main__":
    sys.exit(main())
