"""Modules that are named in a docstring, or imported by a script in a string, are there."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator

import pytest

from tests.conftest import ROOT

HOUSES = {"bbops": ROOT / "bbops", "bbops_server": ROOT / "server", "tests": ROOT / "tests"}
IMPORT = re.compile(r"^from ((?:bbops|bbops_server|tests)[\w.]*) import ([\w, ]+)$", re.MULTILINE)
# A dotted name that goes on with a hyphen is the name of an event: `bbops.job-dead`.
NAME = re.compile(r"(?<![\w./-])(?:bbops|bbops_server)(?:\.\w+)++(?!-)")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.mark.long
@pytest.mark.parametrize("house", HOUSES)
def test_what_is_named_is_there(house: str) -> None:
    missing = {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for path in HOUSES[house].rglob("*.py")
        for name in named(ast.parse(path.read_bytes()))
        if not is_there(name)
    }
    assert missing == set()


def test_a_name_that_is_gone_is_found() -> None:
    said = '"""See `bbops.nowhere.Thing` and bbops.base.errors."""'
    run = f'RUN = """\nfrom {"tests.no"} import a, b\n"""'
    gone = [name for name in named(ast.parse(f"{said}\n{run}")) if not is_there(name)]
    assert gone == ["bbops.nowhere.Thing", "tests.no.a", "tests.no.b"]


def named(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted name of each thing that a docstring names or a string imports."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED):
            yield from NAME.findall(ast.get_docstring(node, clean=False) or "")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            for module, names in IMPORT.findall(node.value):
                yield from (f"{module}.{name.strip()}" for name in names.split(","))


def is_there(name: str) -> bool:
    """Return whether `name` is a module, or is reached from one by its attributes."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            found = getattr(found, part, None)
        return found is not None
    return False
