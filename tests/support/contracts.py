"""Contracts of projects, for tests of what they say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bbops.compiler.check import validate
from bbops.review.contract.contract import Contract, Operation
from bbops.review.contract.describe import describe, read_pages
from bbops.source.tree import FolderTree, MemoryTree, Tree
from tests.conftest import ROOT, TEMPLATE, sample

PROJECTS: tuple[Path, ...] = (
    TEMPLATE, ROOT / "tests/samples/blog", ROOT / "tests/samples/saas", ROOT / "docs/example",
)  # fmt: skip


def contract_of(source: Path | Mapping[str, str]) -> Contract:
    """Return the contract of a project that has no mistakes, and was live before."""
    tree: Tree = FolderTree(source) if isinstance(source, Path) else MemoryTree(source)
    project, found = validate(tree, base=tree)
    assert project is not None, found
    return describe(project, read_pages(tree))


def operation_of(function: str, **endpoint: str) -> Operation:
    """Return the operation of a function of the sample project; keywords are of its endpoint."""
    given = {"method": "POST", "path": "/run", "function": "run", "authentication": "None"}
    text = "".join(f"{key}: {value}\n" for key, value in (given | endpoint).items())
    files = sample(functions__run=function, endpoints__run=text)
    (found,) = contract_of(files).operations
    return found
