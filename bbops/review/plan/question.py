"""What a running server has to see of a project to complete its plan: its tables, and names.

No function, no route, no value and no row of `seed` is in it.
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
    """What is asked.

    Attributes:
        tables: as their files say them, by name.
        env: names of the variables that must have a value.
    """

    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    env: tuple[str, ...] = ()


def read_question(project: Project) -> Question:
    """Return what is to be asked about a project that has no mistakes."""
    tables = {name: _write(one.model) for name, one in project.tables.items()}
    env = project.settings.model.env
    return Question(tables, tuple(name for name, one in env.items() if not one.may_be_missing))


def _write(table: Table) -> dict[str, Any]:
    said = table.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude=_UNSEEN)
    if checks := {name: _text_of(one) for name, one in table.checks.items()}:
        said["checks"] = checks
    return said


def _text_of(check: Expression | Broken) -> str:
    return check.text if isinstance(check, Expression) else ""


def make_tree(question: Question) -> MemoryTree:
    """Return a project that has these tables and nothing else, to be checked like any."""
    files = {f"tables/{name}.yaml": json.dumps(table) for name, table in question.tables.items()}
    return MemoryTree({"project.yaml": "bbops: 1\nname: asked\n", **files})
