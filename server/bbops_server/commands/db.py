"""Back up, restore, seed and query a project's data; approve what a migration loses."""

from __future__ import annotations

import getpass
import json
import os
import sys
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bbops.base.console import say
from bbops.base.errors import ServerError
from bbops.base.render import plural, printable
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops_server.commands._db_tables import find_drift, plan_data, pull_tables
from bbops_server.commands._file_backups import back_up_files, copying, restoring_files
from bbops_server.commands._projects import (
    DATA,
    data_of,
    folder_of,
    hold_state,
    name_of,
    of_project,
    place_of,
    require_project,
    state_of,
    where_state,
)
from bbops_server.commands._settings import require_platform, state_folder
from bbops_server.process.host.system import SystemClock

if TYPE_CHECKING:
    from bbops.database.files.backup import Contents

HELD: Final = "end it with Ctrl-C in its terminal or 'kill {process}', restore, then start it again"


@examples("bbops db shell", "bbops db backup before-the-move.sqlite")
@click.group("db", cls=CommandGroup)
def command() -> None:
    """Back up, restore, seed and query a project's data.

    The data is one SQLite file in the server's state folder. All but 'restore' work while the
    server runs.
    """


for _subcommand in (plan_data, find_drift, pull_tables):
    command.add_command(_subcommand)


@examples("bbops db backup", "bbops db backup monday.sqlite --project shop")
@command.command("backup", short_help="Write all data to a file, also while the server runs.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@of_project
@where_state
@click.option("--json", "as_json", is_flag=True, help="Print what is in the backup, as JSON.")
def back_up_data(
    file: Path | None, project: str | None, state: Path | None, *, as_json: bool
) -> None:
    """Write all data to FILE, by default NAME-TIME.sqlite in this folder.

    A running server keeps reading and writing; the backup contains every write that was
    acknowledged before it began. FILE must not exist; in a folder the default name is used. It
    appears once it is complete, verified and on disk. It contains neither the request history nor
    env values. Files that the addon localStorage keeps are written beside it, as NAME.files.tar.

    Exits with 1 when the data is damaged, with 2 when it cannot be read or FILE not written.
    """
    data = data_of(project, state)
    from bbops.database.files.backup import back_up  # noqa: PLC0415 - after --help

    usual = f"{project or name_of(data.parent)}-{stamp()}.sqlite"
    target = file / usual if file and file.is_dir() else file or Path(usual)
    with copying(f"to {target}", data.stat().st_size) as tell:
        contents = back_up(data, target, tell=tell)
    kept = back_up_files(data.parent, target)
    if as_json:
        click.echo(json.dumps({"file": str(target), **members_of(contents), **kept.members()}))
        return
    say(f"{click.style('backed up', fg='green', bold=True)}  {listed(contents)}")
    say(f"           to '{printable(str(target))}'")
    for line in kept.lines("to"):
        say(f"           {line}")


@examples("bbops db restore monday.sqlite")
@command.command("restore", short_help="Replace the data by a backup.")
@click.argument("file", type=click.Path(path_type=Path))
@of_project
@where_state
@click.option("--json", "as_json", is_flag=True, help="Print what was restored, as JSON.")
def restore_data(file: Path, project: str | None, state: Path | None, *, as_json: bool) -> None:
    """Replace the data by the backup FILE, while no server runs.

    FILE is verified first. The old data is kept next to it, as data.sqlite.before-TIME. If it is
    interrupted, either the old or the new data is in place. Tables missing from the backup are
    created when the server starts. If FILE has files beside it (NAME.files.tar), they are restored
    too; the previous ones are kept in files.before-TIME.

    Exits with 1 when FILE is damaged, with 2 when it cannot be read or a server runs; nothing has
    changed then.
    """
    require_platform()
    require_project(state)
    if not file.is_file():
        raise ServerError(f"there is no file '{file}'", hint="create one with 'bbops db backup'")
    data = folder_of(state_of(state), project) / DATA
    hold_state(state_folder(Path.cwd(), state), cure=HELD)
    data.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    from bbops.database.files.restore import restore  # noqa: PLC0415 - after --help

    time = stamp()
    keep = data.with_name(f"{DATA}.before-{time}")
    with restoring_files(file, data.parent, time) as files:
        with copying(f"from {file}", file.stat().st_size) as tell:
            done = restore(data, file, keep, tell=tell)
        files.put_in_place()
    if as_json:
        kept = str(done.kept) if done.kept else None
        more = {"held": done.held, **members_of(done.contents), **files.members()}
        click.echo(json.dumps({"file": str(file), "kept": kept, **more}))
        return
    say(f"{click.style('restored', fg='green', bold=True)}  {listed(done.contents)}")
    if done.kept:
        say(f"          the previous data is kept in '{printable(str(done.kept))}'")
    for line in files.lines("from"):
        say(f"          {line}")
    if done.held:
        jobs = f"{plural(done.held, 'job')} {'is' if done.held == 1 else 'are'} held"
        say(f"          {jobs}: 'bbops jobs release --restored' lets them run")


@examples("bbops db seed", "bbops db seed --project shop")
@command.command("seed", short_help="Insert the seed rows that are missing.")
@of_project
@where_state
@click.option("--json", "as_json", is_flag=True, help="Print the numbers of rows, as JSON.")
def seed_data(project: str | None, state: Path | None, *, as_json: bool) -> None:
    """Insert the missing seed rows, such as deleted ones.

    They come from the latest live release; publishing does the same. A row whose primary key exists
    is not changed. Either all are inserted or none.
    """
    from bbops.database.migrate.migrate import insert_seed  # noqa: PLC0415 - after --help

    added = insert_seed(place_of(project, state))
    if as_json:
        click.echo(json.dumps({"added": added}))
        return
    for table, count in added.items():
        if count:
            say(f"{click.style('added', fg='green', bold=True)}  {rows(count)} to {table}")
    if not any(added.values()):
        say("all seed rows exist" if added else "no table has seed rows")


@examples(
    "bbops db approve 3f9a1c6e0b7d52489f1a3c5e7092b4d6f8a0c2e4",
    "bbops db approve 3f9a1c6e0b7d52489f1a3c5e7092b4d6f8a0c2e4 --project shop",
)
@command.command("approve", short_help="Approve a migration that loses data.")
@click.argument("plan", metavar="HASH")
@of_project
@where_state
@click.option("--json", "as_json", is_flag=True, help="Print as JSON what may be lost.")
def approve_migration(plan: str, project: str | None, state: Path | None, *, as_json: bool) -> None:
    """Approve the migration HASH, which would lose data.

    'bbops status' shows it. A running server applies it within a second or two. Dropped tables and
    columns are hidden, see 'bbops db narrow'; before other values are lost, the data is copied to
    data.sqlite.before- and 12 digits of HASH beside it. An approval counts once, and is recorded
    with its user and the lost data in approvals.json of the state folder.
    """
    from bbops_server.publish.holds.approvals import approve  # noqa: PLC0415 - after --help

    place_of(project, state)  # which is there
    folder = folder_of(state_of(state), project)
    approval = approve(folder, plan, who=user(), at=SystemClock().now())
    if as_json:
        import msgspec  # noqa: PLC0415 - only for this

        say(msgspec.json.encode(approval).decode())
        return
    for loss in approval.losses:
        say(f"{click.style('approved', fg='green', bold=True)}  {printable(loss.change)}")


@examples("bbops db narrow --dry-run", "bbops db narrow")
@command.command("narrow", short_help="Finish a migration, and delete what is hidden.")
@of_project
@where_state
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@click.option("--json", "as_json", is_flag=True, help="Print what was deleted, as JSON.")
def narrow_data(project: str | None, state: Path | None, *, dry_run: bool, as_json: bool) -> None:
    """Enforce the live release's rules, and permanently delete what is hidden.

    Columns and tables that no release declares any more are hidden; a commit that declares them
    again restores them with their values. A running server keeps serving. A copy of the data is
    kept next to it, as data.sqlite.before-TIME, if a value is lost.

    Exits with 2 when rows break a rule: change them, then run it again.
    """
    place = place_of(project, state)
    from bbops.database.migrate.rollout import delete_hidden, find_hidden  # noqa: PLC0415 - after --help

    keep = stamp()
    found = find_hidden(place) if dry_run else delete_hidden(place, keep)
    kept_in = f"{place}.before-{keep}" if isinstance(place, Path) else f"_before_{keep}_…"
    kept = not dry_run and any(part.rows for part in found)
    if found and not dry_run:
        from bbops_server.publish.holds.approvals import notify_server  # noqa: PLC0415 - after --help

        notify_server(folder_of(state_of(state), project))
    if as_json:
        names = {str(part): part.rows for part in found}
        where = kept_in if kept else None
        shown = {"hidden": names} if dry_run else {"deleted": names, "kept": where}
        click.echo(json.dumps(shown))
        return
    verb = "hidden" if dry_run else click.style("deleted", fg="green", bold=True)
    for part in found:
        say(f"{verb}  {printable(str(part))}, {rows(part.rows)} with a value")
    if kept:
        say(f"         the previous data is kept in '{printable(kept_in)}'")
    if not found:
        more = "" if dry_run else "; the rules of the live release are enforced"
        say(f"nothing is hidden{more}")


@examples("bbops db shell", 'bbops db shell "SELECT count(*) FROM notes"')
@command.command("shell", short_help="Run SQL on the data.")
@click.argument("statement", required=False)
@of_project
@where_state
@click.option("--write", is_flag=True, help="Allow statements that insert, update or delete rows.")
@click.option(
    "--limit", default=1000, show_default=True, type=click.IntRange(1), metavar="N",
    help="The maximum number of rows shown per statement.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per statement.")
def query_data(
    statement: str | None, project: str | None, state: Path | None, limit: int,
    *, write: bool, as_json: bool,
) -> None:  # fmt: skip
    """Run the SQL STATEMENT on the data.

    Without STATEMENT, statements are read from a pipe or a prompt. A running server keeps serving:
    each statement is its own transaction, and writes wait for their turn. Values are shown as
    stored, including private ones. Tables are changed by a commit, never here.
    """
    data = data_of(project, state)
    from bbops.database.files.by_hand import ByHand  # noqa: PLC0415 - after --help
    from bbops_server.commands._shell import converse, print_answer, run_all  # noqa: PLC0415

    with closing(ByHand(data, writes=write)) as database:
        if statement is not None:
            print_answer(database.run(statement, most=limit), as_json=as_json)
        elif sys.stdin.isatty() and not as_json:
            converse(database, most=limit)
        else:
            run_all(database, sys.stdin, most=limit, as_json=as_json)


def user() -> str:
    """Return the name of the user, or a number if the system has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def stamp() -> str:
    """Return the time for a file's name, in UTC."""
    now: datetime = SystemClock().now()
    return f"{now:%Y%m%dT%H%M%SZ}"


def members_of(contents: Contents) -> Mapping[str, object]:
    """Return the contents of a file for JSON."""
    return {"size_bytes": contents.size_bytes, "tables": dict(contents.tables)}


def listed(contents: Contents) -> str:
    """Return the contents of a file as text."""
    tables = ", ".join(f"{name} {count:,}" for name, count in contents.tables.items())
    size = f"{contents.size_bytes / 1_000_000:,.1f} MB"
    return f"{size}, rows: {printable(tables)}" if tables else f"{size}, no tables"


def rows(count: int) -> str:
    """Return a number of rows as text."""
    return "1 row" if count == 1 else f"{count:,} rows"
