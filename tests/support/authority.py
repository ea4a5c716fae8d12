"""Certificates that a test may trust, and some with which something is wrong."""

import ssl
import warnings
from datetime import UTC, datetime
from pathlib import Path

import trustme


class Authority:
    """A CA of the test's own."""

    def __init__(self, folder: Path) -> None:
        ca = trustme.CA()
        self.path = str(folder / "ca.pem")
        ca.cert_pem.write_to_path(self.path)
        self._ca = ca

    def server(self, kind: str = "") -> ssl.SSLContext:
        """What a server needs, or one with which something is wrong."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca = trustme.CA() if kind == "strange" else self._ca
        name = "other.example" if kind == "wrong" else "127.0.0.1"
        end = datetime(2025, 1, 1, tzinfo=UTC) if kind == "expired" else None
        begin = datetime(2024, 1, 1, tzinfo=UTC) if kind == "expired" else None
        ca.issue_cert(name, not_after=end, not_before=begin).configure_cert(context)
        if kind == "old":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
            context.set_ciphers("ALL:@SECLEVEL=0")
        return context
