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
from bbops.interfaces.cli._check_cache import CheckResult, cache_key, load_result, store_result
from bbops.interfaces.cli._command_group import examples
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

    Prints every error with its position and a hint for its fix. Exits with 0 when the project can
    go live, with 1 when it has errors, with 2 when it cannot be read.

    With --database a PostgreSQL server compiles the statements of 'sql', on tables in a schema that
    is dropped again. None of them is executed.
    """
    form = "json" if as_json else form
    require_project(folder)
    size, diagnostics = _check(folder) if database is None else _check_on(folder, database)
    text = render(diagnostics, form, folder=_relative(folder), color=wants_color(sys.stdout))
    if size is not None and not diagnostics and form in {"text", "github"}:
        text = f"no problems in {plural(size, 'resource')}"
    say(text)
    return int(has_errors(diagnostics))


def _check(folder: Path) -> CheckResult:
    tree = FolderTree(folder)
    entries = tree.entries()
    key = cache_key(entries)
    if (cached := load_result(key)) is not None:
        return cached
    from bbops.compiler.check import Cache, validate  # noqa: PLC0415 - only if there is something to check
    from bbops.compiler.check._supported import needs_base  # noqa: PLC0415

    cache = Cache()
    project, diagnostics = validate(tree, cache)
    is_all = not needs_base(diagnostics)
    if not is_all:
        from bbops.source.git.comparing import find_base  # noqa: PLC0415 - git, which few projects need here

        project, diagnostics = validate(tree, cache, base=find_base(folder))
    result = CheckResult(None if project is None else project.size, diagnostics)
    if is_all and tree.entries() == entries:  # no file has changed in the meantime
        store_result(key, result)
    return result


def _check_on(folder: Path, url: str) -> CheckResult:
    """Check a project, and compile its statements on a PostgreSQL server."""
    import asyncio  # noqa: PLC0415 - only with a database

    from bbops.compiler.check import validate  # noqa: PLC0415
    from bbops.compiler.testing.own_statements import try_statements  # noqa: PLC0415
    from bbops.database.schema.place import read_url  # noqa: PLC0415
    from bbops.source.git.comparing import find_base  # noqa: PLC0415

    project, diagnostics = validate(FolderTree(folder), base=find_base(folder))
    if project is not None:
        place = read_url(url, "bbops")
        diagnostics = tuple(sorted({*diagnostics, *asyncio.run(try_statements(project, place))}))
    return CheckResult(None if project is None else project.size, diagnostics)


def require_project(folder: Path) -> None:
    """Check that a folder is a project's root, before its files are read.

    Raises:
        BbopsError: the folder is missing, is a file, or has no project.yaml.
    """
    if not folder.exists():
        raise BbopsError(f"folder '{folder}' does not exist")
    if not folder.is_dir():
        hint = "'bbops serve' checks a server's file" if folder.name == "server.yaml" else ""
        message = f"'{folder}' is a file, expected the folder that holds project.yaml"
        raise BbopsError(message, hint=hint)
    if not os.path.lexists(folder / "project.yaml"):
        raise BbopsError(f"project.yaml is missing in '{folder}'", hint=_hint(folder))


def _hint(folder: Path) -> str:
    if (folder / "project.yml").exists():
        return "rename 'project.yml' to 'project.yaml'"
    parents = folder.resolve().parents
    root = next((parent for parent in parents if (parent / "project.yaml").exists()), None)
    if root is not None:
        return f"the project around it is '{root}'"
    return "create a project with 'bbops init DIR'"


def _relative(folder: Path) -> str:
    """Return the path from the current folder down to the project; empty if it is not below."""
    try:
        path = folder.resolve().relative_to(Path.cwd().resolve()).as_posix()
    except (ValueError, OSError):
        return ""
    return "" if path == "." else path
