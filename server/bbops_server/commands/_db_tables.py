"""Differences between the data and the files under tables/: plan, drift, pull."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bbops.base.console import say
from bbops.base.diagnostics import has_errors
from bbops.base.errors import BbopsError, ProjectError, ServerError
from bbops.base.render import printable
from bbops.database.schema.place import read_url
from bbops.interfaces.cli._command_group import examples
from bbops_server.commands._projects import of_project, place_of, where_state

if TYPE_CHECKING:
    from bbops.database.diff.adopt import Adopted
    from bbops.database.diff.changes import Change
    from bbops.database.schema.place import Place
    from bbops.language.resources.table import Table

_COLORS = {"safe": "green", "destructive": "yellow", "impossible": "red"}


@examples("bbops db plan", "bbops db plan --json")
@click.command("plan", short_help="Show what publishing this folder does to the data.")
@of_project
@where_state
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan_data(project: str | None, state: Path | None, *, as_json: bool) -> int:
    """Show what publishing this folder's project would do to the data, without changing anything.

    Each change is safe, loses something (then it waits for 'bbops db approve'), or is impossible;
    the rows it affects are listed. Exits with 1 when something blocks publishing.
    """
    from bbops.database.migrate.rollout import plan  # noqa: PLC0415 - after --help

    place, tables = place_of(project, state), declared_tables(Path())
    migration = plan(place, tables).migration
    if as_json:
        from bbops.database.migrate.listening import find_all_refused  # noqa: PLC0415 - only for this
        from bbops.database.migrate.opened import read_tables  # noqa: PLC0415 - only for this
        from bbops.database.migrate.rollout_plan import as_json as encode_plan  # noqa: PLC0415 - only for this

        with read_tables(place) as live:
            triggers = find_all_refused(live, tables)
        click.echo(json.dumps(encode_plan(migration, triggers)))
    else:
        say("\n".join(_lines(migration.changes)) or "the tables are up to date")
        if migration.is_waiting:
            say(f"once it is committed: bbops db approve {migration.hash}")
    return int(bool(migration.refused))


@examples("bbops db drift", "bbops db drift --yaml")
@click.command("drift", short_help="Show which tables were changed by hand.")
@of_project
@where_state
@click.option("--yaml", "as_yaml", is_flag=True, help="Print them as files under tables/.")
@click.option("--json", "as_json", is_flag=True, help="Print what differs as JSON.")
def find_drift(
    project: str | None, state: Path | None, *, as_yaml: bool, as_json: bool
) -> int:  # fmt: skip
    """Show where the tables differ from the last published ones, without changing anything.

    The next publication that changes a table brings them back to what its files say. To keep the
    manual changes, first put the files printed by --yaml into tables/. Exits with 1 when they
    differ.
    """
    from bbops.database.migrate import drift  # noqa: PLC0415 - after --help

    found = drift.find_drift(place_of(project, state))
    if as_json:
        changes = [{"what": change.what, "name": change.name} for change in found.found]
        click.echo(json.dumps({"drift": changes, "tables": found.tables, "remarks": found.remarks}))
    elif as_yaml:
        for name, table in found.tables.items():
            text = write_table(name, table) if table else "# this table is gone\n"
            click.echo(f"# tables/{name}.yaml\n{text}", nl=False)
    else:
        say("\n".join(map(printable, drift.lines(found))) or "no table was changed by hand")
    return int(bool(found.found))


@examples("bbops db pull legacy.sqlite")
@click.command("pull", short_help="Write tables/ from an existing database.")
@click.argument("source", required=False, metavar="[FILE]", type=click.Path(path_type=Path))
@click.option("--schema", default="public", show_default=True, help="Of a PostgreSQL database.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def pull_tables(source: Path | None, schema: str, *, force: bool, as_json: bool) -> int:
    """Write tables/*.yaml in this folder from the SQLite FILE, or from DATABASE_URL.

    Only names and types are read, never rows; nothing in the database changes. Exits with 1 if
    the files cannot express something, with a line for each.
    """
    from bbops.compiler.check.tables import RESERVED  # noqa: PLC0415 - after --help
    from bbops.database.diff.adopt import adopt  # noqa: PLC0415
    from bbops.database.migrate.opened import read_tables  # noqa: PLC0415

    with read_tables(_place(source, schema)) as live:
        adopted = adopt(live.read(), live.rest(), RESERVED)
    _write(adopted, force=force)
    if as_json:
        click.echo(json.dumps({"tables": list(adopted.tables), "remarks": adopted.remarks}))
    else:
        for name in adopted.tables:
            say(f"{click.style('wrote', fg='green', bold=True)}  tables/{name}.yaml")
        for remark in adopted.remarks:
            say(f"{click.style('note', fg='yellow', bold=True)}   {printable(remark)}")
        if not adopted.tables:
            say("the database has no table that a project can use")
    return int(bool(adopted.remarks))


def declared_tables(folder: Path) -> Mapping[str, Table]:
    """Return the tables of the project in a folder.

    Raises:
        ProjectError: it has mistakes.
    """
    from bbops.compiler.check import validate  # noqa: PLC0415 - after --help
    from bbops.interfaces.cli.validate import require_project  # noqa: PLC0415
    from bbops.source.tree import FolderTree  # noqa: PLC0415

    require_project(folder)
    tree = FolderTree(folder)
    project, found = validate(tree, base=tree)
    if project is None or has_errors(found):
        raise ProjectError(found)
    return {name: table.model for name, table in project.tables.items()}


def write_table(name: str, table: Mapping[str, Any]) -> str:
    """Return the file of a table, as `bbops fmt` writes it."""
    import yaml  # noqa: PLC0415 - after --help

    from bbops.edit.authoring.formatting import format_file  # noqa: PLC0415

    text = yaml.safe_dump(dict(table), sort_keys=False, allow_unicode=True, width=100)
    formatted = format_file(f"tables/{name}.yaml", text.encode())
    return formatted.text or text


def _place(source: Path | None, schema: str) -> Place:
    if source is not None:
        if not source.is_file():
            raise ServerError(f"there is no file '{source}'", hint="name a SQLite database")
        return source
    url = os.environ.get("DATABASE_URL")
    if not url:
        raise ServerError(
            "no database is named", hint="name a SQLite file, or set DATABASE_URL to PostgreSQL's"
        )
    return read_url(url, schema)


def _write(adopted: Adopted, *, force: bool) -> None:
    from bbops.edit.authoring.folder import Folder  # noqa: PLC0415 - after --help

    files = {f"tables/{name}.yaml": table for name, table in adopted.tables.items()}
    there = [path for path in files if Path(path).exists()]
    if there and not force:
        raise BbopsError(f"'{there[0]}' is there already", hint="move it away, or use --force")
    Folder(Path()).apply({
        path: write_table(Path(path).stem, table).encode() for path, table in files.items()
    })  # fmt: skip


def _lines(changes: tuple[Change, ...]) -> Iterator[str]:
    for change in changes:
        risk = click.style(f"{change.risk:<11}", fg=_COLORS[change.risk], bold=True)
        yield f"{risk}  {printable(str(change))}"
        if change.cure and change.risk != "safe":
            yield f"{'':<11}  {printable(change.cure)}"
