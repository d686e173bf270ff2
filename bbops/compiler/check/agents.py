"""Tools of agents: their arguments have one name each, and a description."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.language.project import Project

_PARTS = ("input", "params", "query")


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield tools whose arguments collide, and a warning for those that a model cannot know."""
    for agent in project.agents.values():
        for at, name in enumerate(agent.model.tool_names):
            function = project.functions.get(name)
            if function is None:
                continue
            shapes = [getattr(function.model, part) or {} for part in _PARTS]
            names = [argument.rstrip("?") for shape in shapes for argument in shape]
            doubled = next((one for one in names if names.count(one) > 1), None)
            place = agent.place("tools", at)
            if doubled is not None:
                yield Diagnostic(
                    place, "duplicate-argument",
                    f"tool '{name}' has two arguments named '{doubled}'",
                    f"rename one in {function.file}: input, params and query share one list here",
                )  # fmt: skip
            if not function.model.description:
                yield Diagnostic(
                    place, "no-description", f"tool '{name}' has no 'description'",
                    f"say in {function.file} what it does: it is all that the model knows about it",
                    severity="warning",
                )  # fmt: skip
            if agent.model.tool_names.index(name) != at:
                message = f"tool '{name}' is listed twice here"
                yield Diagnostic(place, "duplicate-name", message)
