"""`python -m tests.house.late_imports` prints what each import inside of a function saves.

Such an import stands where it does for the sake of start-up alone, so each has a figure: how many
modules it loads, and how long that takes, in a process that has loaded no more than the file around
it.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from tests.conftest import ROOT

EXEMPTED: Final = "PLC0415"
"""The rule that forbids them; a line that names it is exempted."""

_TREES: Final = {"bbops": ROOT, "bbops_server": ROOT / "server"}
_MEASURE: Final = """
import importlib, json, os, sys, time
importlib.import_module(sys.argv[1])
for target, names in json.loads(sys.argv[2]):
    reader, writer = os.pipe()
    if not os.fork():
        before, began = len(sys.modules), time.process_time()
        importlib.import_module(target)
        for name in names:
            try:
                importlib.import_module(f"{target}.{name}")
            except ImportError:
                pass
        spent = 1000 * (time.process_time() - began)
        os.write(writer, json.dumps([len(sys.modules) - before, spent]).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        print(answer.read())
    os.wait()
"""


@dataclass(frozen=True, slots=True)
class LateImport:
    """An import inside of a function: `module` imports `names` of `target`."""

    module: str
    file: str
    line: int
    target: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Saved:
    """What start-up is spared by one."""

    late: LateImport
    modules: int
    milliseconds: float

    def __str__(self) -> str:
        late = self.late
        figure = f"{self.modules:>5} modules {self.milliseconds:8.1f} ms"
        return f"{figure}  {late.target}  {late.file}:{late.line}"


def find_late() -> Iterator[LateImport]:
    """Yield the imports that are exempted, file by file."""
    for package, root in _TREES.items():
        for path in sorted((root / package).rglob("*.py")):
            yield from _of_file(path, root)


def _of_file(path: Path, root: Path) -> Iterator[LateImport]:
    text = path.read_text(encoding="utf-8")
    if EXEMPTED not in text:
        return
    lines = text.splitlines()
    module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if any(EXEMPTED in line for line in lines[node.lineno - 1 : node.end_lineno]):
            names = tuple(one.name for one in node.names)
            of = str(path.relative_to(ROOT)), node.lineno
            if isinstance(node, ast.ImportFrom):
                yield LateImport(module, *of, node.module or "", names)
            else:
                yield from (LateImport(module, *of, name, ()) for name in names)


def measure() -> Iterator[Saved]:
    """Yield what each of them saves; one process for each file."""
    for module, group in groupby(find_late(), lambda one: one.module):
        every = [*group]
        asked = json.dumps([(one.target, one.names) for one in every])
        done = subprocess.run(
            [sys.executable, "-c", _MEASURE, module, asked], cwd=ROOT, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        for one, line in zip(every, done.stdout.splitlines(), strict=True):
            yield Saved(one, *json.loads(line))


def main() -> int:
    """Print them, the least first."""
    found = sorted(measure(), key=lambda one: (one.modules, one.milliseconds))
    print("\n".join(map(str, found)))
    print(f"{len(found)} imports inside of functions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
