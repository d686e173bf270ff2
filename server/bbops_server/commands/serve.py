"""Serve a repository, or several: each commit changes the live API."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import click

from bbops.base.errors import BbopsError, ProjectError
from bbops.database.schema.place import read_url
from bbops.interfaces.cli._command_group import examples
from bbops_server.commands._settings import (
    address_options,
    check_url,
    given_options,
    make_settings,
    require_platform,
    settings_option,
    state_folder,
)
from bbops_server.settings import CONTROL_HOST, ProjectSettings

_OF_SERVER = ("host", "port", "control_host", "control_port", "workers")
_OF_PROJECT = ("branch", "path", "control_url", "schema", "file")


def check_schema(_: click.Context, __: click.Parameter, value: str) -> str:
    """Refuse names that would have to be quoted, or that are PostgreSQL's own."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", value) or value.startswith("pg_"):
        raise click.BadParameter(f"expected a name in lower_case, got '{value[:64]}'")
    return value


@examples("bbops serve", "bbops serve https://git.example.com/shop.git --branch main")
@click.command("serve")
@click.argument("repository", default=".")
@address_options
@click.option("--branch", default="main", show_default=True, help="The branch that is live.")
@click.option("--path", default="", metavar="FOLDER", help="The project's folder, in a monorepo.")
@click.option(
    "--poll",
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    type=click.FloatRange(min=0.1, max=86_400),
    help="How often an external repository is polled.",
)
@click.option(
    "--control-host", default=CONTROL_HOST, show_default=True, metavar="ADDRESS",
    help="The address the control plane listens on; any but loopback needs --control-url.",
)  # fmt: skip
@click.option(
    "--control-url",
    default="",
    metavar="URL",
    callback=check_url,
    help="The public https URL of the control plane, behind a proxy.",
)
@click.option(
    "--workers", default=1, show_default=True, metavar="N", type=click.IntRange(1, 64),
    help="The number of processes that answer requests.",
)  # fmt: skip
@click.option(
    "--schema", default="bbops", show_default=True, metavar="NAME", callback=check_schema,
    help="Where the data is kept in the PostgreSQL database of DATABASE_URL.",
)  # fmt: skip
@settings_option
@click.option(
    "--replace", "replaces", is_flag=True,
    help="Replace the server that runs on this state folder, without downtime.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per event.")
@click.pass_context
def command(
    context: click.Context, /, repository: str, state: Path | None, branch: str, path: str,
    poll: float, control_url: str, schema: str, file: Path | None, *, replaces: bool,
    as_json: bool, **_of_server: Any,
) -> None:  # fmt: skip
    """Serve REPOSITORY (by default this folder) and follow its branch.

    REPOSITORY is a folder, or an address (https://, ssh://, git@host:path, file://) that is polled
    every --poll seconds. The API listens on --host and --port, the control plane on loopback. A
    commit is live within a second of being seen; one with an error is rejected, and the last good
    release keeps serving. Stop the server with Ctrl-C: running requests are finished first.

    The data is a SQLite file in the state folder, or a schema of the PostgreSQL database that the
    variable DATABASE_URL names (with the extra 'postgres').

    With --replace it starts while another server runs on the same state folder, takes over its
    sockets once it is ready, and then stops that server; if it does not get ready, the old server
    keeps serving.

    A file such as server.yaml, or a folder that holds one, is a server of several projects; changes
    to it take effect within a second.
    """
    require_platform()
    from bbops.source.git.address import Address, require_branch  # noqa: PLC0415 - after --help
    from bbops.source.git.store import require_git  # noqa: PLC0415 - as all below; --help needs no git
    from bbops_server.commands._run import run_project  # noqa: PLC0415
    from bbops_server.publish.sources.remote import RemoteSource  # noqa: PLC0415
    from bbops_server.publish.sources.sources import BranchSource, RevisionSource  # noqa: PLC0415

    require_git()
    if (several := find_file(repository)) is not None:
        serve_file(context, several, state, poll, replaces=replaces, as_json=as_json)
        return
    require_branch(branch)
    address = Address.parse(repository)
    source: RevisionSource
    if address is None:
        folder = Path(repository).absolute()
        source = local = BranchSource(folder, branch, path)
        _ = local.place  # before a state folder is made in what is no repository
        state = state_folder(folder, state)
    else:
        state = state_folder(Path.cwd(), state)
    given = given_options(context)
    own: dict[str, Any] = {name: given[name] for name in _OF_SERVER if name in given}
    own["schema"] = schema
    if control_url:
        own["control_shown"] = control_url
    if url := os.environ.get("DATABASE_URL", ""):
        own["database_url"] = url
    settings, followed = make_settings(file, state, own, poll_seconds=poll)
    if address is not None:
        source = RemoteSource(
            address, branch, state / "mirror", path=path, every_seconds=poll,
            version_tag=settings.version_tag,
        )  # fmt: skip
    database = settings.database_url
    postgres = read_url(database, schema) if database else None
    project = ProjectSettings(state, branch=branch, path=path, postgres=postgres)
    run_project(settings, project, source, as_json=as_json, file=followed, replaces=replaces)


def find_file(given: str) -> Path | None:
    """Return the file of a server of several projects, None when something else is given."""
    path = Path(given)
    if path.suffix in {".yaml", ".yml"} and not path.is_dir() and "://" not in given:
        return path.absolute()
    inside = path / "server.yaml"
    is_project = (path / "project.yaml").exists()
    return inside.absolute() if inside.is_file() and not is_project else None


def serve_file(
    context: click.Context, path: Path, state: Path | None, poll: float, *, replaces: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Serve the projects of a file.

    Raises:
        ProjectError: the file has mistakes.
        BbopsError: an option was given that belongs to one project.
    """
    from bbops_server.commands._run import run_file  # noqa: PLC0415 - after --help
    from bbops_server.publish.projects.file_follower import FileOptions  # noqa: PLC0415
    from bbops_server.settings.server_file.load import read_file  # noqa: PLC0415
    from bbops_server.settings.server_file.settings import server_settings  # noqa: PLC0415

    given = given_options(context)
    for name in _OF_PROJECT:
        if name in given:
            key = {"control_url": "urls.control", "file": "projects"}.get(name, name)
            option = "settings" if name == "file" else name.replace("_", "-")
            raise BbopsError(
                f"'--{option}' is an option of one project", hint=f"say '{key}' in '{path.name}'"
            )
    read = read_file(path)
    if read.file is None:
        raise ProjectError(read.diagnostics)
    own = {name: given[name] for name in _OF_SERVER if name in given}
    if url := os.environ.get("DATABASE_URL"):
        own["database_url"] = read_url(url, "").url
    folder = state_folder(path.parent, state, inside=path.parent)
    settings = server_settings(read.file, folder, own)
    options = FileOptions(path, poll, own)
    run_file(settings, read.file, options, as_json=as_json, replaces=replaces)
