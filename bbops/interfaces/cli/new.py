"""Make a new resource: a small file that is right.

Kinds are endpoint, function, table, channel, task, trigger, webhook, realtime, agent, addon and
test.
"""

from __future__ import annotations

from pathlib import Path

import click

from bbops.interfaces.cli._change import as_json_option, finish, open_change, path_option
from bbops.interfaces.cli._examples import examples


@examples("bbops new endpoint notes/archive", "bbops new table tags")
@click.command()
@click.argument("kind")
@click.argument("name")
@path_option
@as_json_option
def command(kind: str, name: str, folder: Path, *, as_json: bool) -> None:
    """Make a new resource NAME of a KIND, for example 'endpoint notes/archive'.

    KIND is endpoint, function, table, channel, task, trigger, webhook, realtime, agent, addon or
    test. A resource that needs a function gets one of the same name; a test is named after what it
    tests.
    """
    change = open_change(folder)
    from bbops.edit.authoring.making import make  # noqa: PLC0415 - after the cheap answers
    from bbops.edit.authoring.naming import Name, folder_of  # noqa: PLC0415

    kinds = folder_of(kind)
    clean = name.removeprefix(f"{kinds}/").removesuffix(".yaml")
    make(change, Name(kinds, clean))
    finish(change, as_json=as_json)
