"""Readers of workflow commands and output files, as the runner of GitHub Actions has them.

Source: actions/runner, `ActionCommand.cs`, `ActionCommandManager.cs` and `FileCommandManager.cs`,
written from their description.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

_NAMES = {
    "add-mask", "add-matcher", "debug", "echo", "endgroup", "error", "group", "notice",
    "remove-matcher", "save-state", "set-output", "stop-commands", "warning",
}  # fmt: skip
_DATA = (("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))
_PROPERTY = (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%"))


@dataclass(frozen=True)
class WorkflowCommand:
    """A command in the output of a step."""

    name: str
    properties: dict[str, str]
    data: str


def read_commands(output: str) -> list[WorkflowCommand]:
    """Return the commands that the runner would run, except for those that stop and resume it."""
    commands, token = list[WorkflowCommand](), ""
    for line in output.splitlines():
        known = {token} if token else _NAMES
        command = _parse(line, known) or _parse_old(line, known)
        if command is None:
            continue
        if token:
            token = ""
        elif command.name == "stop-commands":
            token = command.data
        else:
            commands.append(command)
    return commands


def _parse(line: str, known: Collection[str]) -> WorkflowCommand | None:
    line = line.lstrip()
    if not line.startswith("::") or (end := line.find("::", 2)) < 0:
        return None
    name, _, listed = line[2:end].partition(" ")
    if name not in known:
        return None
    pairs = (pair.partition("=") for pair in listed.strip().split(",") if "=" in pair)
    properties = {key: _unescape(value, _PROPERTY) for key, _, value in pairs}
    return WorkflowCommand(name, properties, _unescape(line[end + 2 :], _DATA))


def _parse_old(line: str, known: Collection[str]) -> WorkflowCommand | None:
    """Return a command of the older form, which may begin anywhere in a line."""
    start = line.find("##[")
    end = line.find("]", start)
    if start < 0 or end < 0:
        return None
    name = line[start + 3 : end].partition(" ")[0]
    return WorkflowCommand(name, {}, line[end + 1 :]) if name in known else None


def _unescape(text: str, pairs: tuple[tuple[str, str], ...]) -> str:
    for escaped, plain in pairs:
        text = text.replace(escaped, plain)
    return text


def read_outputs(text: str) -> dict[str, str]:
    """Return the outputs in a file, by name."""
    outputs, lines = dict[str, str](), iter(text.split("\n"))
    for line in lines:
        if not line:
            continue
        name, _, delimiter = line.partition("<<")
        assert name, f"not an output: {line}"
        assert delimiter, f"not an output: {line}"
        value = list[str]()
        for part in lines:
            if part == delimiter:
                break
            value.append(part)
        else:
            raise AssertionError(f"the delimiter of '{name}' is missing")
        outputs[name] = "\n".join(value)
    return outputs
