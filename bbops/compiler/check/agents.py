"""Tools of agents: names, arguments, descriptions and approvals; and the addon of the model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from bbops.base.diagnostics import Diagnostic, Hint, ReplaceWord, suggest
from bbops.compiler.check._outside import Outside
from bbops.compiler.check._writing import find_writing_step
from bbops.compiler.check.triggers import check_where
from bbops.language.addons._base import kind
from bbops.language.expressions.types import Type, map_of
from bbops.language.project import Project, Resource
from bbops.language.resources.agent import MODEL_ADDONS, Agent, AgentTool
from bbops.language.resources.function import Function
from bbops.language.shape import Shape, shape_types
from bbops.language.steps.return_ import Return
from bbops.runtime.agents.dialects import DIALECTS
from bbops.runtime.agents.values import tool_name

PARTS: Final = ("input", "params", "query")
"""The shapes of a function whose fields are the arguments of a tool."""
ANSWER: Final = "answer"
"""The tool with which a model gives an `output`; no function can have its name beside one."""
_STARTS: Final = {
    "chat": "a chat without JWT", "webhook": "a webhook", "database": "rows of a table",
    "event": "an event", "realtime": "messages of a topic",
}  # fmt: skip
_BOOLEANS: Final = {"yes": "true", "on": "true", "no": "false", "off": "false"}


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield mistakes in tools and models, and a warning for tools without a description."""
    for agent in project.agents.values():
        yield from _model(project, agent)
        yield from _options(agent)
        yield from _instructions(agent)
        yield from _names(agent)
        for at, tool in enumerate(agent.model.every_tool):
            function = project.functions.get(str(tool.function))
            if function is not None:
                yield from _arguments(agent, function, at)
                yield from _files(agent, function, at)
                yield from _approval(project, agent, function, tool, at)


def arguments_of(function: Resource[Function]) -> Shape:
    """Return the arguments of a tool: the `input`, `params` and `query` of its function."""
    shapes = (getattr(function.model, part) or {} for part in PARTS)
    return {name: field for shape in shapes for name, field in shape.items()}


def argument_type(function: Resource[Function]) -> Type:
    """Return the type of `args` in `approval`."""
    return map_of(shape_types(arguments_of(function)), "args")


def _model(project: Project, agent: Resource[Agent]) -> Iterator[Diagnostic]:
    """Refuse an addon without models, and an addon that is missing."""
    name, place = agent.model.model.addon, agent.place("model", "addon")
    if name not in MODEL_ADDONS:
        is_there = kind(name) is not None or name in project.addons
        message = f"addon '{name}' {'has no models' if is_there else 'does not exist'}"
        hint = suggest(name, MODEL_ADDONS) or f"the addons for models are {_LISTED}"
        yield Diagnostic(place, "bad-value" if is_there else "unknown-addon", message, hint)
    elif name not in project.addons and ("addons", name) not in project.broken:
        message, hint = f"addon '{name}' does not exist", f"make addons/{name}.yaml"
        yield Diagnostic(place, "unknown-addon", message, hint)


_LISTED: Final = " and ".join(MODEL_ADDONS)


def _options(agent: Resource[Agent]) -> Iterator[Diagnostic]:
    """Refuse options of the vendor that the agent writes itself, or that no answer fits."""
    dialect, options = DIALECTS.get(agent.model.model.addon), agent.model.model.options
    for name in sorted(options.keys() & (dialect.reserved if dialect else frozenset())):
        place = agent.place("model", "options", name, key=True)
        message = f"an agent cannot have the option '{name}': requests to its model depend on it"
        yield Diagnostic(place, "bad-value", message, "remove it")
    tools = options.get("tools", [])
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        place = agent.place("model", "options", "tools")
        hint = "tools of the vendor; functions of the project belong in the agent's 'tools'"
        yield Diagnostic(place, "bad-value", "the option 'tools' needs a list of maps", hint)


def _instructions(agent: Resource[Agent]) -> Iterator[Diagnostic]:
    """Warn about expressions, which the model would read as text."""
    found = re.search(r"\$\{[^{}]*\}", agent.model.instructions)
    if found is not None:
        yield Diagnostic(
            agent.place("instructions"), "static",
            f"'instructions' takes no expressions: the model reads '{found[0]}' as text",
            "describe what to look up, and let a tool give the value", severity="warning",
        )  # fmt: skip


def _names(agent: Resource[Agent]) -> Iterator[Diagnostic]:
    """Refuse two tools with one name, and a tool with the name of our own."""
    seen = dict[str, str]()
    for at, function in enumerate(agent.model.tool_names):
        name, place = tool_name(function), agent.place("tools", at)
        if function in seen.values():
            yield Diagnostic(place, "duplicate-name", f"tool '{function}' is listed twice here")
        elif name in seen:
            message = f"tools '{seen[name]}' and '{function}' are both '{name}' for the model"
            yield Diagnostic(place, "duplicate-name", message, "rename one of the functions")
        elif name == ANSWER and agent.model.output is not None:
            message = f"tool '{function}' has the name of the tool that gives the 'output'"
            hint = "rename the function, or move it into a folder"
            yield Diagnostic(place, "duplicate-name", message, hint)
        seen.setdefault(name, function)


def _arguments(
    agent: Resource[Agent], function: Resource[Function], at: int
) -> Iterator[Diagnostic]:
    names = [
        name.rstrip("?") for part in PARTS for name in getattr(function.model, part) or {}
    ]  # fmt: skip
    doubled = next((name for name in names if names.count(name) > 1), None)
    place, name = agent.place("tools", at), function.name
    if doubled is not None:
        yield Diagnostic(
            place, "duplicate-argument", f"tool '{name}' has two arguments named '{doubled}'",
            f"rename one in {function.file}: input, params and query share one list here",
        )  # fmt: skip
    if not function.model.description:
        yield Diagnostic(
            place, "no-description", f"tool '{name}' has no 'description'",
            f"say in {function.file} what it does: it is all that the model knows about it",
            severity="warning",
        )  # fmt: skip


def _files(agent: Resource[Agent], function: Resource[Function], at: int) -> Iterator[Diagnostic]:
    """Refuse a tool that returns a file."""
    for step in function.model.every_step:
        if isinstance(step, Return) and step.return_.file is not None:
            line = function.at(step.mark).line
            message = f"tool '{function.name}' returns a file, which a model cannot read"
            hint = f"return a 'value' in {function.file}:{line}"
            yield Diagnostic(agent.place("tools", at), "bad-value", message, hint)
            return


def _approval(
    project: Project, agent: Resource[Agent], function: Resource[Function], tool: AgentTool, at: int
) -> Iterator[Diagnostic]:
    """Check the condition of a tool; refuse its absence where strangers start what writes."""
    if tool.approval is not None:
        outside = find_call(agent, function)
        yield from check_where(outside, tool.approval, "tools", at, "approval")
        return
    starts = agent.model.runs_on.open_starts
    writing = find_writing_step(project, function.name) if starts else None
    if writing is not None:
        line = writing.function.at(writing.step.mark).line
        where = f"'{writing.step.key}' in {writing.function.file}:{line}"
        yield Diagnostic(
            agent.place("tools", at), "unattended-tool",
            f"{_STARTS[starts[0]]} can make the agent call '{function.name}', which writes:"
            f" {where}",
            f"write '{{ function: {function.name}, approval: true }}', or 'approval: false' if"
            " nobody has to look at its calls",
        )  # fmt: skip


def find_call(agent: Resource[Any], function: Resource[Function]) -> Outside:
    """Return the scope of `approval`: the arguments of a call."""
    names = [name.rstrip("?") for name in arguments_of(function)]
    missing: dict[str, str] = {
        name: Hint(f"write 'args.{name}'", ReplaceWord(name, f"args.{name}")) for name in names
    }
    for part in PARTS:
        missing.setdefault(part, Hint("write 'args'", ReplaceWord(part, "args")))
    for word, meant in _BOOLEANS.items():
        missing.setdefault(word, Hint(f"write '{meant}'", ReplaceWord(word, meant)))
    return Outside(agent, {"args": argument_type(function)}, missing=missing)
