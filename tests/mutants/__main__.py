"""`python -m mutants [MODULE…]`: changes modules of the core in one place at a time, and tells which changes no test notices.

Each change is tried in a process of its own, in which the module is imported changed: also what is made when it is
imported. The tests are those files of tests/core that import the module, or those given with `--tests`. A change is noticed
where one of them fails, or is not through within its time. Which survivors matter not: docs/decisions.
"""

import argparse
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import resource
import sys
import types
from pathlib import Path

import hypothesis
import pytest

from mutants.changes import Changes


TESTS = Path(__file__).resolve().parents[1]
CORE = TESTS.parent / "daemon" / "postroom" / "core"
LONGEST_S = 60  # of CPU, for the tests of one module
OPTIONS = (
    *("-x", "-q", "--tb=no", "--no-header", "--rootdir", str(TESTS.parent)),
    *("-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:schemathesis"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
UNNOTICED, UNTESTED = 0, 5  # pytest's exit codes


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the changed module to whoever imports it."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self._name = f"postroom.core.{name}"
        self._path = CORE / f"{name}.py"
        self._code = compile(tree, str(self._path), "exec")

    def find_spec(
        self, fullname: str, path: object, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def exec_module(self, module: types.ModuleType) -> None:
        exec(self._code, vars(module))  # noqa: S102 - it is our own module


class Quick:
    """Property tests look at the same examples each time, and do not make small what they find."""

    def pytest_sessionstart(self) -> None:
        phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
        hypothesis.settings.register_profile(
            "mutants", derandomize=True, database=None, deadline=None, phases=phases
        )
        hypothesis.settings.load_profile("mutants")


def tests_of(name: str) -> list[str]:
    """The files of tests that import the module."""
    imports = re.compile(
        rf"^from postroom\.core(\.{name} import| import .*\b{name}\b)", re.MULTILINE
    )
    files = sorted((TESTS / "core").glob("test_*.py"))
    return [str(one) for one in files if imports.search(one.read_text("utf-8"))]


def outcome(name: str, tree: ast.Module, tests: list[str]) -> int:
    """What pytest says of these tests with this module."""
    pid = os.fork()
    if not pid:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        resource.setrlimit(resource.RLIMIT_CPU, (LONGEST_S, LONGEST_S + 1))
        sys.meta_path.insert(0, Changed(name, tree))
        os._exit(pytest.main([*OPTIONS, *tests], plugins=[Quick()]))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def try_all(name: str, given: list[str]) -> int:
    """Try every change of a module and tell those that nobody noticed; how many they are."""
    source = (CORE / f"{name}.py").read_text("utf-8")
    tests = given or tests_of(name)
    every = Changes()
    plain = every.of(source)
    if not tests or outcome(name, plain, tests) != UNNOTICED:
        print(f"{name}: no tests, or they fail as it stands")
        return 1
    left = 0
    for at, (line, what) in enumerate(every.places):
        if outcome(name, Changes(at).of(source), tests) in {UNNOTICED, UNTESTED}:
            print(f"{name}.py:{line}: {what}", flush=True)
            left += 1
    print(f"{name}: {len(every.places)} changes, {left} not noticed", flush=True)
    return left


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MODULE", help="of postroom.core; none = all")
    parser.add_argument("--tests", action="append", default=[], help="a file of tests")
    given = parser.parse_args()
    names = given.names or sorted(one.stem for one in CORE.glob("[a-z]*.py"))
    return min(1, sum(try_all(name, given.tests) for name in names))


if __name__ == "__main__":
    sys.exit(main())
