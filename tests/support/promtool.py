"""Prometheus' own tool (Debian: the package `prometheus`), which says what is wrong with metrics, and with rules."""

import subprocess

from support.peers import needs_peer


def promtool(*words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """What it says of this text."""
    argv = [needs_peer("promtool"), *words]
    return subprocess.run(argv, input=text, capture_output=True, text=True, timeout=60, check=False)
