"""Rename a resource or a column, and update all references.

A table or column gets `renamedFrom`, so that its rows and values are kept.
"""

from __future__ import annotations

from pathlib import Path

import click

from bbops.interfaces.cli._change import apply_change, as_json_option, open_change, path_option
from bbops.interfaces.cli._command_group import examples

_HINT = "use --force to rename it anyway, and fix these afterwards"


@examples("bbops mv functions/notes/list functions/notes/all", "bbops mv tables/notes tables/memos")
@click.command()
@click.argument("old")
@click.argument("new")
@click.option("--force", is_flag=True, help="Rename it even if the project would have errors.")
@path_option
@as_json_option
def command(old: str, new: str, folder: Path, *, force: bool, as_json: bool) -> None:
    """Rename the resource OLD to NEW, and update every reference to it.

    Both names are written like 'functions/notes/create'. OLD may be a folder such as
    'functions/notes', or a column such as 'tables/notes.title': 'renamedFrom' keeps its values, but
    you have to change the functions that use it. Nothing is changed if the project would have new
    errors; nothing is committed.
    """
    change = open_change(folder)
    from bbops.edit.authoring.columns import parse_column, rename_column  # noqa: PLC0415
    from bbops.edit.authoring.moving import move  # noqa: PLC0415 - after the cheap answers
    from bbops.edit.authoring.naming import parse_name  # noqa: PLC0415

    if column := parse_column(old, new):
        rename_column(change, *column)
    else:
        move(change, parse_name(old), parse_name(new))
    apply_change(change, force=force, as_json=as_json, hint=_HINT)
