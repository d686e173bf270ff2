"""Create a resource: a small file without errors.

Kinds are endpoint, function, table, channel, task, trigger, webhook, realtime, agent, addon and
test; 'crud' creates the routes of a table.
"""

from __future__ import annotations

from pathlib import Path

import click

from bbops.base.errors import BbopsError
from bbops.interfaces.cli._change import apply_change, as_json_option, open_change, path_option
from bbops.interfaces.cli._command_group import examples


@examples("bbops new endpoint notes/archive", "bbops new table labels --crud")
@click.command()
@click.argument("kind")
@click.argument("name")
@click.option("with_crud", "--crud", is_flag=True, help="Also create the routes of a new table.")
@path_option
@as_json_option
def command(kind: str, name: str, folder: Path, *, with_crud: bool, as_json: bool) -> None:
    """Create a resource NAME of a KIND, for example 'endpoint notes/archive'.

    KIND is endpoint, function, table, channel, task, trigger, webhook, realtime, agent, addon or
    test. A resource that needs a function gets one of the same name; a test is named after the
    resource that it tests. 'crud' creates the routes of the table NAME: list, get, create, update
    and delete.
    """
    change = open_change(folder)
    from bbops.edit.authoring.making import make, make_crud  # noqa: PLC0415
    from bbops.edit.authoring.naming import Name, folder_of  # noqa: PLC0415

    kinds = "tables" if kind == "crud" else folder_of(kind)
    clean = name.removeprefix(f"{kinds}/").removesuffix(".yaml")
    if with_crud and kinds != "tables":
        raise BbopsError(
            "'--crud' only works with a table", hint=f"write 'bbops new table {clean} --crud'"
        )
    if kind != "crud":
        make(change, Name(kinds, clean))
    if kind == "crud" or with_crud:
        make_crud(change, clean)
    apply_change(change, as_json=as_json)
