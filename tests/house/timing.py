"""Places where a test depends on time: `python -m tests.house.timing` prints them.

Three kinds: a pause of a fixed length, an assertion about elapsed time, and an HTTP client without
a timeout, which is one of five seconds. `timing.txt` has the number of each that a file may have;
`--write` lowers it to what is found.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.conftest import ROOT

ALLOWED: Final = Path(__file__).with_name("timing.txt")
CLOCKS: Final = frozenset({"perf_counter", "monotonic", "process_time", "thread_time", "time"})
CLIENTS: Final = frozenset({
    "get", "post", "put", "patch", "delete", "head", "options", "request", "stream",
    "Client", "AsyncClient",
})  # fmt: skip
DURATION: Final = re.compile(r"(^|_)(elapsed|took|seconds|pause|longest|duration)$")
_PATIENT: Final = ("tests/bench/", "tests/support/patience.py", "tests/support/time_limits.py")
_PAUSE_IN_DOCS: Final = re.compile(r"\bsleep [1-9]")


@dataclass(frozen=True, slots=True)
class Place:
    """A place that depends on time, of a kind: 'pause', 'elapsed' or 'no timeout'."""

    file: str
    line: int
    kind: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}"


def places() -> Iterator[Place]:
    """Yield the places in tests, then those in README.md and the docs."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if not file.startswith(_PATIENT):
            yield from in_code(file, path.read_text(encoding="utf-8"))
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        yield from _in_page(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def in_code(file: str, text: str) -> Iterator[Place]:
    """Yield the places in Python code."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and (kind := _kind_of_call(node)):
            yield Place(file, node.lineno, kind)
        elif isinstance(node, ast.Assert) and _compares_time(node.test):
            yield Place(file, node.lineno, "elapsed")


def _kind_of_call(call: ast.Call) -> str:
    owner, name = _name_of(call.func)
    if name == "sleep" and call.args and not _is_zero(call.args[0]):
        return "pause"
    given = {keyword.arg for keyword in call.keywords}
    if owner == "httpx" and name in CLIENTS and not given & {"timeout", "transport", None}:
        return "no timeout"
    return ""


def _compares_time(test: ast.expr) -> bool:
    """Return whether a comparison reads a clock, or compares a duration with a number."""
    for node in ast.walk(test):
        if not isinstance(node, ast.Compare):
            continue
        parts = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
        if any(isinstance(part, ast.Call) and _name_of(part.func)[1] in CLOCKS for part in parts):
            return True
        is_ordered = any(isinstance(each, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for each in node.ops)
        has_number = any(isinstance(part, ast.Constant) for part in parts)
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        if is_ordered and has_number and any(map(DURATION.search, names)):
            return True
    return False


def _name_of(function: ast.expr) -> tuple[str, str]:
    """Return ('httpx', 'get') of httpx.get, and ('', 'sleep') of sleep."""
    if isinstance(function, ast.Attribute):
        owner = function.value.id if isinstance(function.value, ast.Name) else ""
        return owner, function.attr
    return "", function.id if isinstance(function, ast.Name) else ""


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _in_page(file: str, text: str) -> Iterator[Place]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("$ ") and _PAUSE_IN_DOCS.search(line) and "; do sleep" not in line:
            yield Place(file, number, "pause")


def allowed() -> Counter[tuple[str, str]]:
    """Return how many places of a kind a file may have."""
    lines = (line.rsplit(maxsplit=1) for line in ALLOWED.read_text("utf-8").splitlines())
    return Counter({tuple(place.split(": ")): int(number) for place, number in lines})  # type: ignore[misc]


def main() -> None:
    """Print the places, or write how many there are of them."""
    found = list(places())
    if "--write" in sys.argv:
        counted = Counter((place.file, place.kind) for place in found)
        lines = [f"{file}: {kind} {number}" for (file, kind), number in sorted(counted.items())]
        ALLOWED.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(*found, f"{len(found)} places", sep="\n")


if __name__ == "__main__":
    main()
