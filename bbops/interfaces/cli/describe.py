"""Draft descriptions of endpoints and functions with a chat model."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bbops.base.console import say
from bbops.base.errors import BbopsError
from bbops.base.render import plural, printable
from bbops.interfaces.cli._change import open_change, path_option
from bbops.interfaces.cli._command_group import examples

if TYPE_CHECKING:
    from bbops.edit.authoring.describing import Draft
    from bbops.interfaces.client.chat import ChatClient

VARIABLES = ("BBOPS_MODEL_URL", "BBOPS_MODEL_KEY", "BBOPS_MODEL")
MAX_DRAFTS = 100
"""Requests to the model in one run: each costs time and money."""


@examples("bbops describe", "bbops describe endpoints/notes/list --write")
@click.command()
@click.argument("names", metavar="[NAME]…", nargs=-1)
@click.option(
    "writes",
    "--write",
    is_flag=True,
    help="Write the descriptions to the files; comments are kept.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@path_option
def command(names: tuple[str, ...], folder: Path, *, writes: bool, as_json: bool) -> None:
    """Draft the description of each endpoint and function without one, or of the given NAMEs.

    It calls a chat model once for each: BBOPS_MODEL_URL is its URL, such as
    https://models.example.com, BBOPS_MODEL_KEY the key and BBOPS_MODEL the model's name. The model
    receives names, routes, shapes and steps, never rows or the values of env variables. Review the
    descriptions before you commit them.
    """
    chat = _open_chat()
    with closing(chat):
        change = open_change(folder)
        from bbops.compiler.check import validate  # noqa: PLC0415
        from bbops.edit.authoring import describing  # noqa: PLC0415 - after the cheap answers
        from bbops.edit.authoring.naming import parse_name  # noqa: PLC0415

        project, _ = validate(change.folder.tree, base=change.folder.tree)
        if project is None:
            raise BbopsError("the project has errors", hint="'bbops validate' shows them")
        resources = describing.choose(change, project, map(parse_name, names))
        drafts = [*describing.draft(change, project, resources[:MAX_DRAFTS], chat.ask)]
    if writes:
        describing.describe(change, drafts)
        change.apply()
    _print_drafts(drafts, writes=writes, as_json=as_json, left=len(resources) - len(drafts))


def _open_chat() -> ChatClient:
    """Raises: BbopsError: no model is configured."""
    values = [os.environ.get(name, "") for name in VARIABLES]
    missing = [name for name, value in zip(VARIABLES, values, strict=True) if not value]
    if missing:
        raise BbopsError(
            f"no chat model is configured: {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} not set",
            hint="set BBOPS_MODEL_URL to the address of a chat API, BBOPS_MODEL_KEY to its key and"
            " BBOPS_MODEL to the name of a model",
        )
    from bbops.interfaces.client.chat import ChatClient  # noqa: PLC0415 - 60 ms that --help does not need

    return ChatClient(*values)


def _print_drafts(drafts: list[Draft], *, writes: bool, as_json: bool, left: int) -> None:
    if as_json:
        described = [
            {"name": f"{draft.name.folder}/{draft.name.name}", "file": draft.name.file,
             "description": draft.text} for draft in drafts
        ]  # fmt: skip
        say(json.dumps({"descriptions": described, "written": writes, "left": left}, indent=2))
        return
    for draft in drafts:
        text = (
            draft.text or "(the model's answer is not a single sentence of at most 200 characters)"
        )
        say(f"{printable(draft.name.file)}\n    {text}")
    if not drafts:
        say("everything has a description")
    elif not writes:
        click.echo("nothing was written; use --write to write them to the files", err=True)
    if left:
        click.echo(
            f"{plural(left, 'resource')} left; run the command again for the next ones", err=True
        )
