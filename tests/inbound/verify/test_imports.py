"""The judging libraries are slow to import: nobody pays for them before the first mail."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "postroom.cli.tree",
        "postroom.client",
        "postroom.service.main",
        "postroom.inbound.verify.verifier",
        "postroom.inbound.verify.resolver",
    ],
)
def test_nothing_that_judges_is_imported_before_there_is_mail(module: str) -> None:
    code = f"import sys, {module}; print(*{{one.partition('.')[0] for one in sys.modules}})"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert not {"dns", "dkim", "spf"} & set(said.stdout.split())
