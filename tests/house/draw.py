"""`python -m tests.house.draw [ROOM]` draws the house: rooms, floors, arrows and circles.

Every import counts: inside of functions, for type checkers, and by name, `import_module("bbops…")`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

import grimp

from tests.conftest import ROOT

HOUSES: Final = {"bbops": ROOT / "bbops", "bbops_server": ROOT / "server/bbops_server"}
Arrows = Mapping[str, set[str]]


@dataclass(frozen=True)
class Floor:
    """One package, and which of its children import which.

    Attributes:
        name: of the package.
        arrows: from each child to those it imports, by their last names.
        circle: children that import one another, first and last the same; empty without one.
    """

    name: str
    arrows: Arrows
    circle: tuple[str, ...]

    @property
    def storeys(self) -> list[list[str]]:
        """The children, those first that import the others; empty where there is a circle."""
        if self.circle:
            return []
        sorter, found = TopologicalSorter(self.arrows), list[list[str]]()
        sorter.prepare()
        while ready := sorted(sorter.get_ready()):
            found.insert(0, ready)
            sorter.done(*ready)
        return found

    def __str__(self) -> str:
        count = sum(map(len, self.arrows.values()))
        head = f"{self.name}: rooms {len(self.arrows)}, floors {len(self.storeys)}, arrows {count}"
        circle = f", circle {' > '.join(self.circle)}" if self.circle else ""
        return "\n".join([head + circle, *(f"  {' | '.join(one)}" for one in self.storeys)])


@cache
def _imports() -> grimp.ImportGraph:
    graph = grimp.build_graph(*HOUSES)
    for importer, imported in _by_name():
        if imported in graph.modules and importer != imported:
            graph.add_import(importer=importer, imported=imported)
    return graph


def _by_name() -> Iterator[tuple[str, str]]:
    """Yield who imports what by a name that stands in its text."""
    for house, folder in HOUSES.items():
        for path in folder.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
                    for name in _constants(node.args):
                        yield _module(house, folder, path), name


def _constants(arguments: list[ast.expr]) -> list[str]:
    values = [one.value for one in arguments if isinstance(one, ast.Constant)]
    return [one for one in values if isinstance(one, str)]


def _module(house: str, folder: Path, path: Path) -> str:
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join([house, *(part for part in parts if part != "__init__")])


def draw(package: str) -> Floor:
    """Return the floor of a package. O(imports)."""
    graph = _imports()
    children = sorted(graph.find_children(package))
    arrows = {
        one.rpartition(".")[2]: {
            other.rpartition(".")[2]
            for other in children
            if one != other
            and graph.direct_import_exists(importer=one, imported=other, as_packages=True)
        }
        for one in children
    }
    return Floor(package, arrows, find_circle(arrows))


def find_circle(arrows: Arrows) -> tuple[str, ...]:
    """Return rooms that import one another, first and last the same; nothing without a circle."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def packages() -> list[str]:
    """Return every package of both houses."""
    graph = _imports()
    return sorted(one for one in graph.modules if graph.find_children(one))


def main(asked: list[str]) -> int:
    """Print what is asked for, else both houses and how many packages have a circle."""
    for name in asked or HOUSES:
        print(draw(name))
    if asked:
        return 0
    floors = [draw(name) for name in packages()]
    circles = [one.name for one in floors if one.circle]
    print(f"{len(_imports().modules)} files, {len(floors)} packages, {len(circles)} with a circle")
    return 1 if circles else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
