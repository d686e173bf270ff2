"""Check a project without running it.

Exits with 0 when it can go live, with 1 when it has errors.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from bbops.base.console import say, wants_color
from bbops.base.diagnostics import has_errors
from bbops.base.errors import BbopsError
from bbops.base.render import FORMS, Form, plural, render
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._remembered import Checked, keep, name_of, recall
from bbops.source.tree import FolderTree


@examples("bbops validate", "bbops validate --database postgresql://localhost/shop")
@click.command()
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option(
    "form", "--format", type=click.Choice(FORMS), default="text", show_default=True,
    help="The output format.",
)  # fmt: skip
@click.option(
    "--database", metavar="URL",
    help="A PostgreSQL database that compiles the project's own SQL, too.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
def command(folder: Path, form: Form, *, database: str | None, as_json: bool) -> int:
    """Check the project in DIR (default: the current folder) without running it.

    Prints every error with its position and a hint how to fix it. Exits with 0 when the project can
    go live, with 1 when it has errors, with 2 when it cannot be read.

    With --database a PostgreSQL server compiles the statements of 'sql', on tables in a schema that
    is dropped again. Nothing of them runs.
    """
    form = "json" if as_json else form
    require_project(folder)
    size, found = _check(folder) if database is None else _check_on(folder, database)
    text = render(found, form, folder=_seen_from_here(folder), color=wants_color(sys.stdout))
    if size is not None and not found and form in {"text", "github"}:
        text = f"no problems in {plural(size, 'resource')}"
    say(text)
    return int(has_errors(found))


def _check(folder: Path) -> Checked:
    tree = FolderTree(folder)
    entries = tree.entries()
    name = name_of(entries)
    if (kept := recall(name)) is not None:
        return kept
    from bbops.build.check import Cache, validate  # noqa: PLC0415 - only where there is something to check
    from bbops.build.check._supported import needs_base  # noqa: PLC0415

    cache = Cache()
    project, found = validate(tree, cache)
    is_all = not needs_base(found)
    if not is_all:
        from bbops.source.git.base import find_base  # noqa: PLC0415 - git, for the few who need it

        project, found = validate(tree, cache, base=find_base(folder))
    checked = Checked(None if project is None else project.size, found)
    if is_all and tree.entries() == entries:  # nobody wrote meanwhile
        keep(name, checked)
    return checked


def _check_on(folder: Path, url: str) -> Checked:
    """Check a project, and what a PostgreSQL server has against its statements."""
    import asyncio  # noqa: PLC0415 - only where a database is asked

    from bbops.build.check import validate  # noqa: PLC0415
    from bbops.build.testing.own_statements import try_statements  # noqa: PLC0415
    from bbops.database.schema.place import read_url  # noqa: PLC0415
    from bbops.source.git.base import find_base  # noqa: PLC0415

    project, found = validate(FolderTree(folder), base=find_base(folder))
    if project is not None:
        place = read_url(url, "bbops")
        found = tuple(sorted({*found, *asyncio.run(try_statements(project, place))}))
    return Checked(None if project is None else project.size, found)


def require_project(folder: Path) -> None:
    """Check that a folder is a project's root, before everything below it is read.

    Raises:
        BbopsError: it is missing, a file, or has no project.yaml.
    """
    if not folder.exists():
        raise BbopsError(f"folder '{folder}' does not exist")
    if not folder.is_dir():
        hint = "'bbops serve' checks a server's file" if folder.name == "server.yaml" else ""
        message = f"'{folder}' is a file, expected the folder that holds project.yaml"
        raise BbopsError(message, hint=hint)
    if not os.path.lexists(folder / "project.yaml"):
        raise BbopsError(f"project.yaml is missing in '{folder}'", hint=_cure(folder))


def _cure(folder: Path) -> str:
    if (folder / "project.yml").exists():
        return "rename 'project.yml' to 'project.yaml'"
    above = next((one for one in folder.resolve().parents if (one / "project.yaml").exists()), None)
    if above is not None:
        return f"the project around it is '{above}'"
    return "create a project with 'bbops init DIR'"


def _seen_from_here(folder: Path) -> str:
    """Return the way from the current folder down to the project; empty if it is not below."""
    try:
        way = folder.resolve().relative_to(Path.cwd().resolve()).as_posix()
    except (ValueError, OSError):
        return ""
    return "" if way == "." else way
