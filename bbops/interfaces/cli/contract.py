"""Write a project's contract with its clients: OpenAPI, AsyncAPI, JSON or Markdown.

Exits with 1 if the project has errors: its contract is not known then.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from bbops.base.addresses import split
from bbops.base.errors import BbopsError, ProjectError
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli.validate import require_project
from bbops.source.tree import FolderTree

if TYPE_CHECKING:
    from bbops.review.contract.contract import Contract

FORMS = ("openapi", "asyncapi", "json", "markdown", "typescript", "python")


@examples("bbops contract export --format openapi")
@click.group(cls=CommandGroup)
def command() -> None:
    """Write the contract of a project's API."""


@examples(
    "bbops contract export --format openapi",
    "bbops contract export --format typescript --out client.ts",
)
@command.command()
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option(
    "form", "--format", type=click.Choice(FORMS), default="openapi", show_default=True,
    help="The output format.",
)  # fmt: skip
@click.option(
    "--out", metavar="FILE", default="-", type=click.File("w", encoding="utf-8", lazy=True),
    help="The file to write; standard output if not given.",
)  # fmt: skip
@click.option("--server", metavar="URL", default="", help="The base URL of the API.")
def export(folder: Path, form: str, out: IO[str], server: str) -> None:
    """Write the contract of the project in DIR (default: the current folder).

    The same files give the same text. Hidden endpoints are left out.
    """
    parts = split(server)
    if server and (parts is None or parts.scheme not in {"http", "https"}):
        raise BbopsError(f"'{server}' is not a valid URL", hint="write https://api.example.com")
    contract = _describe(folder)
    from bbops.review.contract.files import FORMATS  # noqa: PLC0415 - as below

    text = FORMATS[form].render(replace(contract, server=server.rstrip("/")))
    try:
        out.write(text)
    except click.FileError as error:  # it would exit with 1, which stands for errors in the project
        raise BbopsError(error.format_message()) from None


def _describe(folder: Path) -> Contract:
    """Return the contract of the project in a folder.

    Raises:
        BbopsError: there is no project.
        ProjectError: it has errors.
    """
    require_project(folder)
    from bbops.compiler.check import validate  # noqa: PLC0415 - pydantic and every step
    from bbops.review.contract.describe import describe, read_pages  # noqa: PLC0415

    tree = FolderTree(folder)
    project, diagnostics = validate(tree, base=tree)
    if project is None:
        raise ProjectError(diagnostics)
    return describe(project, read_pages(tree))
