"""Show the history of a resource: its commits, and the versions that published them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from bbops.base.console import say
from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._local_project import (
    LocalProject,
    find_local_project,
    path_option,
    project_option,
    read_own_versions,
)


@examples("bbops history endpoints/notes/list", "bbops history tables/notes --limit 5")
@click.command()
@click.argument("resource")
@path_option
@project_option
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="How many.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def command(resource: str, folder: Path, project: str, limit: int, *, as_json: bool) -> None:
    """Show the commits that changed RESOURCE, such as endpoints/orders/list, newest first.

    Each has the version in which it first went live, if any. Renames are followed.
    """
    from bbops.source.git.restoring import read_past  # noqa: PLC0415 - after --help

    local = find_local_project(folder)
    versions = read_own_versions(local, project)
    changes = read_past(local.store.place, _path(local, resource), limit, versions)
    if not changes:
        raise _unknown(local, resource)
    if as_json:
        say(json.dumps([change._asdict() for change in changes], indent=2))
        return
    for change in changes:
        short = change.version.rpartition("/")[2] or "-"
        version = click.style(f"{short:<6}", bold=bool(change.version))
        time = change.at[:16].replace("T", " ")
        say(f"{version} {time}  {change.commit[:12]}  {printable(change.author)}: "
            f"{printable(change.subject)}")  # fmt: skip


def _path(local: LocalProject, resource: str) -> str:
    name = resource.strip("/")
    name = name if name.endswith((".yaml", ".md")) else f"{name}.yaml"
    return f"{local.under}/{name}" if local.under else name


def _unknown(local: LocalProject, resource: str) -> BbopsError:
    head = local.store.find_commit("HEAD")
    entries = local.store.entries(head, local.under) if head else ()
    names = [str(entry.path).removesuffix(".yaml") for entry in entries]
    hint = suggest(resource.strip("/").removesuffix(".yaml"), names)
    return BbopsError(f"no commit contains a resource '{resource[:100]}'",
                      hint=hint or "such as endpoints/orders/list")  # fmt: skip
