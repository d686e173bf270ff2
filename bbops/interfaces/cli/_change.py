"""Find a project, and apply a change to its files, for the commands that edit one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bbops.base.console import say
from bbops.base.errors import ProjectError
from bbops.base.render import printable
from bbops.interfaces.cli.validate import require_project

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bbops.edit.authoring.changing import Change

path_option = click.option(
    "--path", "folder", default=".", type=click.Path(path_type=Path), metavar="DIR",
    help="The project, or a folder in it; the current one if not given.",
)  # fmt: skip


as_json_option = click.option("--json", "as_json", is_flag=True, help="Print the files as JSON.")


def open_change(folder: Path) -> Change:
    """Return an empty change of the project around a folder.

    Raises:
        BbopsError: there is no project.
    """
    from bbops.edit.authoring.changing import Change  # noqa: PLC0415 - pydantic and the compiler
    from bbops.edit.authoring.folder import find_root  # noqa: PLC0415

    root = find_root(folder)
    if root is None:
        require_project(folder)
    return Change.open(root or folder)


def apply_change(
    change: Change, *, force: bool = False, as_json: bool, hint: str = "",
    more: Mapping[str, list[str]] | None = None,
) -> None:  # fmt: skip
    """Write a change, and print the changed files.

    Args:
        hint: the fix to suggest if the change would break the project; printed above the errors.
        more: further keys of the JSON.

    Raises:
        ProjectError: the change would break the project.
    """
    before = set(change.folder.paths)
    try:
        changed = change.apply(force=force)
    except ProjectError:
        click.echo("nothing was changed, because the project would have these errors:", err=True)
        if hint:
            click.echo(f"    hint: {hint}", err=True)
        raise
    files = [_describe(change, path, before) for path in changed if path not in change.moved]
    if as_json:
        say(json.dumps({"changed": files, **(more or {})}))
        return
    for file in files:
        source = f"{printable(file['from'])} to " if "from" in file else ""
        say(f"{file['what']:<7} {source}{printable(file['path'])}")


def _describe(change: Change, path: str, before: set[str]) -> dict[str, str]:
    """Return the action on a file: made, changed, moved or removed."""
    source = next((old for old, new in change.moved.items() if new == path), None)
    if source is not None:
        return {"what": "moved", "path": path, "from": source}
    if change.files[path] is None:
        return {"what": "removed", "path": path}
    return {"what": "changed" if path in before else "made", "path": path}
