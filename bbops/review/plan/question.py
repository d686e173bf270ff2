"""The data that a running server needs to complete a project's plan: its tables, and names.

It contains no function, no route, no value and no row of `seed`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.language.expressions.values import Broken, Expression
from bbops.language.project import Project
from bbops.language.resources.table import RULES, Table
from bbops.source.tree import MemoryTree

_UNSEEN: Final[dict[str, Any]] = {
    "seed": True, "description": True, "checks": True, "columns": {"__all__": {"description"}},
} | dict.fromkeys(RULES, True)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """The question to the server.

    Attributes:
        tables: the declared tables, by name.
        env: names of the variables that must have a value.
    """

    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    env: tuple[str, ...] = ()


def read_question(project: Project) -> Question:
    """Return the question about a project without mistakes."""
    tables = {name: _write(table.model) for name, table in project.tables.items()}
    env = project.settings.model.env
    return Question(
        tables, tuple(name for name, variable in env.items() if not variable.may_be_missing)
    )


def _write(table: Table) -> dict[str, Any]:
    said = table.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude=_UNSEEN)
    if checks := {name: _text_of(check) for name, check in table.checks.items()}:
        said["checks"] = checks
    return said


def _text_of(check: Expression | Broken) -> str:
    return check.text if isinstance(check, Expression) else ""


def make_tree(question: Question) -> MemoryTree:
    """Return a project with only these tables, to be checked like any other."""
    files = {f"tables/{name}.yaml": json.dumps(table) for name, table in question.tables.items()}
    return MemoryTree({"project.yaml": "bbops: 1\nname: asked\n", **files})
