"""The public surface: names and structure that users, scripts and agents depend on.

`python -m tests.house.surface` prints it as JSON, `--update` writes `surface.txt`: each name with a
digest of its structure. Sentences (help, descriptions, messages) are not part of it. A changed line
in a review is a changed interface.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Final

import click

from bbops.edit.authoring.topics import read_codes
from bbops.interfaces.cli._root_group import added_commands, load_command, own_commands
from bbops.interfaces.mcp.tool import find_tools
from bbops.review.plan.codes import CODES
from bbops_server.control_plane.app import create_control
from bbops_server.control_plane.projects.metrics import METRICS
from tests.conftest import ROOT

TOOLS: Final = ("bbops.interfaces.mcp.project", "bbops_server.mcp.public")
RECORDED: Final = Path(__file__).with_name("surface.txt")
COMMAND: Final = "python -m tests.house.surface --update"
_SENTENCES: Final = {"description", "title", "summary", "operationId", "examples", "tags"}


def read_surface() -> dict[str, Any]:
    """Return commands, schemas, codes, routes, tools and metrics by name."""
    return {
        "commands": _commands(),
        "schemas": _schemas(),
        "codes": _codes(),
        "plan codes": sorted(CODES),
        "api": _api(),
        "routes": _routes(),
        "tools": _tools(),
        "metrics": {name: kind for name, (kind, _) in sorted(METRICS.items())},
    }


def _commands() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}

    def walk(name: str, command: click.Command) -> None:
        found[name] = sorted(map(_parameter, command.params))
        for child in getattr(command, "commands", {}):
            walk(f"{name} {child}", command.commands[child])  # type: ignore[attr-defined]

    for name, module in sorted((own_commands() | added_commands()).items()):
        walk(name, load_command(name, module))
    return found


def _parameter(parameter: click.Parameter) -> str:
    names = " ".join(sorted([*parameter.opts, *parameter.secondary_opts]))
    marks = [
        mark for mark, is_set in (
            ("required", parameter.required),
            ("flag", getattr(parameter, "is_flag", False)),
            ("multiple", getattr(parameter, "multiple", False)),
            ("many", parameter.nargs != 1),
        ) if is_set
    ]  # fmt: skip
    return " ".join([names, parameter.type.name, *marks])


def _schemas() -> dict[str, Any]:
    files = sorted((ROOT / "schemas").glob("*.json"))
    return {path.name: _structure(json.loads(path.read_text()), {}) for path in files}


def _codes() -> list[str]:
    return sorted(read_codes())


def _api() -> dict[str, Any]:
    document = create_control(None).openapi_schema.to_schema()  # type: ignore[arg-type]
    schemas = document["components"]["schemas"]
    return {
        f"{method.upper()} {path}": _structure(operation, schemas)
        for path, operations in sorted(document["paths"].items())
        for method, operation in sorted(operations.items())
    }


def _routes() -> list[str]:
    routes = create_control(None).routes  # type: ignore[arg-type]
    return sorted(
        f"{' '.join(sorted(getattr(route, 'methods', [])))} {route.path}" for route in routes
    )


def _tools() -> dict[str, Any]:
    tools = {name: tool for package in TOOLS for name, tool in find_tools(package).items()}
    return {
        name: {
            "scope": tool.scope, "takes": _structure(tool.input_schema, {}),
            "gives": _structure(tool.output_schema, {}),
        } for name, tool in sorted(tools.items())
    }  # fmt: skip


def _structure(value: Any, schemas: dict[str, Any], inside: tuple[str, ...] = ()) -> Any:
    """Return a schema without sentences, and with references of OpenAPI replaced by their target.

    Names of components are not part of the interface; a reference to itself stays a mark.
    """
    if isinstance(value, list):
        return [_structure(item, schemas, inside) for item in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref", "")
    if isinstance(reference, str) and reference.startswith("#/components/schemas/"):
        name = reference.rpartition("/")[2]
        return (
            "recursive" if name in inside else _structure(schemas[name], schemas, (*inside, name))
        )
    is_named = all(isinstance(item, dict) for item in value.values())  # a map of properties
    return {
        key: _structure(item, schemas, inside)
        for key, item in sorted(value.items(), key=lambda pair: str(pair[0]))
        if is_named or key not in _SENTENCES
    }


def render(surface: dict[str, Any]) -> str:
    """Return the surface as JSON, one line for each name and its structure."""
    lines = []
    for section, content in surface.items():
        named = content if isinstance(content, dict) else dict.fromkeys(content)
        entries = ",\n".join(
            f"  {json.dumps(name)}: {json.dumps(entry, sort_keys=True)}"
            for name, entry in named.items()
        )
        lines.append(f"{json.dumps(section)}: {{\n{entries}\n}}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def digest(surface: dict[str, Any]) -> list[str]:
    """Return a line for each name, with a digest of its structure."""
    lines = []
    for section, content in surface.items():
        named = content if isinstance(content, dict) else dict.fromkeys(content)
        for name, entry in named.items():
            structure = json.dumps(entry, sort_keys=True).encode()
            lines.append(f"{section}: {name} {hashlib.sha256(structure).hexdigest()[:12]}")
    return lines


def main(arguments: list[str]) -> int:
    """Print the surface, or write it."""
    surface = read_surface()
    if arguments == ["--update"]:
        RECORDED.write_text("\n".join(digest(surface)) + "\n")
    else:
        print(render(surface), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
