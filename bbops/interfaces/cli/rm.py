"""Remove a resource that is not used any more."""

from __future__ import annotations

from pathlib import Path

import click

from bbops.base.render import plural
from bbops.interfaces.cli._change import apply_change, as_json_option, open_change, path_option
from bbops.interfaces.cli._command_group import examples


@examples("bbops rm endpoints/notes/delete", "bbops rm functions/notes/list --force")
@click.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Remove it even if another file refers to it.")
@path_option
@as_json_option
def command(name: str, folder: Path, *, force: bool, as_json: bool) -> int:
    """Remove the resource NAME, such as 'endpoints/notes/create'.

    Exits with 1 if another file still refers to it. Nothing is committed.
    """
    change = open_change(folder)
    from bbops.edit.authoring.moving import remove  # noqa: PLC0415 - after the cheap answers
    from bbops.edit.authoring.naming import parse_name  # noqa: PLC0415

    references = remove(change, parse_name(name))
    if references and not force:
        places = "\n    ".join(map(str, references))
        click.echo(
            f"'{name}' is still used in {plural(len(references), 'place')}:\n    {places}", err=True
        )
        click.echo("nothing was changed; use --force to remove it anyway", err=True)
        return 1
    apply_change(change, force=force, as_json=as_json)
    return 0
