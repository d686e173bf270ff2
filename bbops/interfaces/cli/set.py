"""Set keys of a resource, and keep its comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from bbops.base.errors import BbopsError
from bbops.interfaces.cli._change import apply_change, as_json_option, open_change, path_option
from bbops.interfaces.cli._command_group import examples


@examples(
    "bbops set endpoints/notes/list docsVisibility=hidden",
    "bbops set channels/notes-v1 cors.maxAge=600",
)
@click.command()
@click.argument("name")
@click.argument("pairs", metavar="KEY=VALUE…", nargs=-1)
@click.option("unset", "--unset", multiple=True, metavar="KEY", help="Remove a key.")
@path_option
@as_json_option
def command(
    name: str, pairs: tuple[str, ...], folder: Path, unset: tuple[str, ...], *, as_json: bool
) -> None:
    """Set keys of the resource NAME, such as 'endpoints/notes/create docsVisibility=hidden'.

    VALUE is YAML on one line; nested keys are written 'cors.maxAge'. Use 'project' for the
    settings. Nothing is changed if the project would have new errors.
    """
    if not pairs and not unset:
        raise BbopsError("nothing to set", hint="for example: docsVisibility=hidden")
    change = open_change(folder)
    from bbops.edit.authoring.changing import set_key, unset_key  # noqa: PLC0415
    from bbops.edit.authoring.moving import missing  # noqa: PLC0415 - after the cheap answers
    from bbops.edit.authoring.naming import parse_name  # noqa: PLC0415

    resource = parse_name(name)
    if not change.exists(resource):
        raise missing(change, resource)
    for key, value in split_pairs(pairs):
        set_key(change, resource, key, value)
    for key in unset:
        unset_key(change, resource, key)
    apply_change(change, as_json=as_json)


def split_pairs(pairs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the key and the value of each `key=value`.

    Raises:
        BbopsError: a pair has no `=`.
    """
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise BbopsError(f"expected KEY=VALUE, got '{pair}'")
        yield key, value
