"""The shape of the code: small modules, one door for each library, nothing left undone, nothing handed on."""

import ast
import re
import tomllib
from functools import cache
from itertools import chain
from pathlib import Path

import pytest


ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "daemon" / "postroom"
MODULES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted(path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))
WRITTEN = sorted(
    path
    for folder in ("daemon", "tests", "benchmarks", "config", "systemd", "docs")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".sql", ".toml", ".md", ".service", ".socket"}
)
# Every library has one place at which its ways and its errors become ours (docs/decisions/0002).
DOORS = {
    "aiohttp": ("api/",),
    "aiosmtpd": ("inbound/session.py",),
    "aiosmtplib": ("outbound/relay.py",),
    "aiosqlite": ("store/sqlite/database.py",),
    "click": ("cli/",),
    "dkim": ("inbound/verify/dkimdoor.py",),
    "dns": ("inbound/verify/dnsdoor.py",),
    "email_validator": ("core/address.py",),
    "flufl": ("inbound/fluflbounce.py",),
    "lxml": ("inbound/htmltext.py",),
    "msgspec": ("api/", "inbound/wire.py", "store/sqlite/"),
    "prometheus_client": ("ops/metrics.py",),
    "spf": ("inbound/verify/spfdoor.py",),
    "sqlite3": ("store/sqlite/",),
    "structlog": ("ops/logbook.py",),
    "uvloop": ("service/main.py",),
}
# What is installed under another name than it is imported.
IMPORTED_AS = {"dkimpy": "dkim", "dnspython": "dns", "flufl.bounce": "flufl", "pyspf": "spf"}
UNDONE = re.compile(r"\b(?:TO" + "DO|FIX" + "ME|X" + "XX)\\b")


def _name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@cache
def _imported(module: Path) -> frozenset[str]:
    """The top-level packages that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return frozenset(found)


def test_a_module_is_at_most_300_lines() -> None:
    assert TESTS
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines())
        for path in MODULES + TESTS
    }
    assert {name: length for name, length in lengths.items() if length > 300} == {}


def test_a_module_says_what_it_is_for() -> None:
    trees = {_name(path): ast.parse(path.read_text("utf-8")) for path in MODULES}
    assert [name for name, tree in trees.items() if not ast.get_docstring(tree)] == []


@pytest.mark.parametrize("library", DOORS)
def test_a_library_has_one_door(library: str) -> None:
    found = {_name(module) for module in MODULES if library in _imported(module)}
    assert found
    assert [name for name in found if not name.startswith(DOORS[library])] == []


def test_every_dependency_has_its_door() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    declared = {
        re.split(r"\W*[<>=]", each)[0] for each in [*project["dependencies"], *chain(*extras)]
    }
    assert {IMPORTED_AS.get(name, name.replace("-", "_")) for name in declared} <= set(DOORS)


@pytest.mark.parametrize(
    "package", [module for module in MODULES if module.name == "__init__.py"], ids=_name
)
def test_a_package_hands_on_nothing(package: Path) -> None:
    """Everything is imported from where it is made; `postroom.client` is itself the client."""
    tree = ast.parse(package.read_text("utf-8"))
    made = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    imported = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert made or not imported
    assert "__all__" not in package.read_text("utf-8")


def test_nothing_is_left_to_be_done() -> None:
    undone = [str(path) for path in WRITTEN if UNDONE.search(path.read_text("utf-8"))]
    assert WRITTEN
    assert undone == []
