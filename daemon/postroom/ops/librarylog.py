"""What libraries log, led to the chronicle and nowhere else."""

import logging
from typing import Final

from postroom.ops.chronicle import Chronicle


_LOUD_LIBRARIES: Final = ("mail.log", "aiosmtplib")  # say whole messages at debug


class LibraryLog(logging.Handler):
    """Leads what libraries log to the chronicle."""

    def __init__(self, chronicle: Chronicle) -> None:
        super().__init__(logging.WARNING)
        self._chronicle = chronicle

    def emit(self, record: logging.LogRecord) -> None:
        """Write it as a line; a record that can not be read is nothing to stop for."""
        try:
            self._chronicle.library_warned(record)
        except (TypeError, ValueError):
            self.handleError(record)


def lead_library_logs(chronicle: Chronicle) -> LibraryLog:
    """From now on every library's warnings go to the chronicle, and nowhere else."""
    handler = LibraryLog(chronicle)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in _LOUD_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
    return handler
