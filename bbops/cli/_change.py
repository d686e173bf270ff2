"""What the commands that change files share: where the project is, and what they say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bbops.cli.validate import require_project
from bbops.console import say
from bbops.errors import ProjectError
from bbops.render import printable

if TYPE_CHECKING:
    from bbops.authoring.changing import Change

path_option = click.option(
    "--path", "folder", default=".", type=click.Path(path_type=Path), metavar="DIR",
    help="The project, or a folder in it; the current one if not given.",
)  # fmt: skip


def open_change(folder: Path) -> Change:
    """Return an empty change of the project around a folder.

    Raises:
        BbopsError: there is none.
    """
    from bbops.authoring.changing import Change  # noqa: PLC0415 - pydantic and the compiler
    from bbops.authoring.folder import find_root  # noqa: PLC0415

    root = find_root(folder)
    if root is None:
        require_project(folder)
    return Change.open(root or folder)


def finish(change: Change, *, force: bool = False) -> None:
    """Write a change, and say which files it is.

    Raises:
        ProjectError: it would break the project.
    """
    before = set(change.folder.paths)
    try:
        changed = change.apply(force=force)
    except ProjectError:
        click.echo("nothing was changed, for the project would have these errors:", err=True)
        raise
    moved = {new: old for old, new in change.moved.items()}
    for path in changed:
        if path in change.moved:
            continue
        if path in moved:
            say(f"moved   {printable(moved[path])} to {printable(path)}")
        elif change.files[path] is None:
            say(f"removed {printable(path)}")
        else:
            say(f"{'changed' if path in before else 'made   '} {printable(path)}")
