"""All output of a run of the tests goes to one ear (support.heard), and the run fails where a secret is heard.

| said by | comes here |
|---|---|
| daemons with a log file under `tmp_path` | from there, when all tests have ended, with the keys of their state directories |
| daemons in folders of their own, parts of one in the test's own process | `support` hands in their logs |
| commands that a test starts and waits for | what `communicate` gives to the test |
| commands in the test's own process | what `capsys` or `RealDaemon.cli` gives to the test |
| everything else that is printed | pytest's own record of each test |

Known limits: what a test reads line by line from a pipe is not heard.
"""

import asyncio.subprocess
import os
import subprocess
from typing import Any

import pytest

from support.heard import EAR, keys_of


LOGS = ("log", "*.log")
PATCH = pytest.MonkeyPatch()


def pytest_configure() -> None:
    """Listen at the doors through which tests get what others said."""
    wait, wait_here = subprocess.Popen.communicate, asyncio.subprocess.Process.communicate
    read = pytest.CaptureFixture.readouterr

    def communicate(self: Any, *given: Any, **named: Any) -> Any:
        return _heard(wait(self, *given, **named), self.args)

    async def communicate_here(self: Any, *given: Any, **named: Any) -> Any:
        return _heard(await wait_here(self, *given, **named), "a child")

    def readouterr(self: Any) -> Any:
        return _heard(read(self), "a command")

    PATCH.setattr(subprocess.Popen, "communicate", communicate)
    PATCH.setattr(asyncio.subprocess.Process, "communicate", communicate_here)
    PATCH.setattr(pytest.CaptureFixture, "readouterr", readouterr)


def pytest_unconfigure() -> None:
    PATCH.undo()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """What was captured of a test; its last report has all of it."""
    if report.when == "teardown":
        for name, text in report.sections:
            EAR.hear(f"{report.nodeid}, {name}", text)


@pytest.fixture(scope="session", autouse=True)
def _log_files(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """When all tests have ended: the logs that lie in their folders."""
    yield
    base = tmp_path_factory.getbasetemp()
    for log in {found for name in LOGS for found in base.rglob(name) if found.is_file()}:
        said = log.read_text("utf-8", "replace")
        EAR.hear_log(str(log.relative_to(base)), said, keys_of(log.parent))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if EAR.leaks:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if EAR.leaks:
        terminalreporter.section("secrets and texts of strangers in output", red=True)
    for leak in EAR.leaks:
        terminalreporter.write_line(str(leak))


def _heard(said: Any, by: Any) -> Any:
    """The same pair of outputs, searched."""
    who = f"{os.environ.get('PYTEST_CURRENT_TEST', '')}, {by}"
    for text in said:
        if text:
            EAR.hear(who, text if isinstance(text, str) else text.decode("utf-8", "replace"))
    return said
