"""Copy a resource; the copy of a channel includes its endpoints."""

from __future__ import annotations

from pathlib import Path

import click

from bbops.interfaces.cli._change import apply_change, as_json_option, open_change, path_option
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli.set import split_pairs


@examples(
    "bbops copy functions/notes/list functions/notes/search",
    "bbops copy channels/notes-v1 channels/notes-v2",
)
@click.command()
@click.argument("old")
@click.argument("new")
@click.option(
    "pairs", "--set", multiple=True, metavar="KEY=VALUE",
    help="Set a key of the copy, for example path=/other; can be repeated.",
)  # fmt: skip
@path_option
@as_json_option
def command(old: str, new: str, folder: Path, pairs: tuple[str, ...], *, as_json: bool) -> None:
    """Copy the resource OLD to NEW. Copying a channel also copies its endpoints.

    'bbops copy channels/web-v1 channels/web-v2' makes the next version of an API: a basePath with
    v1 gets v2, and each endpoint is copied to endpoints/web-v2/. Nothing is changed if the project
    would have new errors. A copied function is not used yet, which is a warning.
    """
    change = open_change(folder)
    from bbops.edit.authoring.changing import set_key  # noqa: PLC0415
    from bbops.edit.authoring.moving import copy  # noqa: PLC0415 - after the cheap answers
    from bbops.edit.authoring.naming import parse_name  # noqa: PLC0415

    copies = copy(change, parse_name(old), parse_name(new))
    for key, value in split_pairs(pairs):
        set_key(change, copies[0], key, value)
    apply_change(change, as_json=as_json)
    for warning in change.warnings:
        if warning.code == "unused-function" and warning.place.file == copies[0].file:
            click.echo(
                f"warning: {warning.message} yet, so variables of middleware are not checked in it",
                err=True,
            )
