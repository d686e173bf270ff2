"""Write the files that an endpoint file about a table stands for."""

from __future__ import annotations

from pathlib import Path

import click

from bbops.interfaces.cli._change import apply_change, as_json_option, open_change, path_option
from bbops.interfaces.cli._command_group import examples


@examples("bbops expand endpoints/tags --action create", "bbops expand endpoints/tags")
@click.command()
@click.argument("file")
@click.option("--action", metavar="NAME", default="", help="Only this action's function.")
@path_option
@as_json_option
def command(file: str, action: str, folder: Path, *, as_json: bool) -> None:
    """Write the files that FILE about a table stands for, such as 'endpoints/notes.yaml'.

    With --action the action's function becomes a file, which the action names under 'function'.
    Without it every action becomes an endpoint and a function, and FILE is removed. The project
    does the same before and after: its plan is empty.
    """
    change = open_change(folder)
    from bbops.edit.authoring.expanding import expand  # noqa: PLC0415 - after the cheap answers
    from bbops.edit.authoring.naming import parse_name  # noqa: PLC0415

    expand(change, parse_name(file), action)
    apply_change(change, as_json=as_json)
