"""Show how one resource came to be as it is: its commits, and the versions they went live in."""

from __future__ import annotations

import json
from pathlib import Path

import click

from bbops.base.console import say
from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError
from bbops.base.render import printable
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._history import (
    Here,
    find_here,
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
    from bbops.source.git.file_history import read_past  # noqa: PLC0415 - after --help

    here = find_here(folder)
    versions = read_own_versions(here, project)
    found = read_past(here.store.place, _path(here, resource), limit, versions)
    if not found:
        raise _unknown(here, resource)
    if as_json:
        say(json.dumps([one._asdict() for one in found], indent=2))
        return
    for one in found:
        version = click.style(f"{one.version.rpartition('/')[2] or '-':<6}", bold=bool(one.version))
        when = one.at[:16].replace("T", " ")
        say(f"{version} {when}  {one.commit[:12]}  {printable(one.author)}: "
            f"{printable(one.subject)}")  # fmt: skip


def _path(here: Here, resource: str) -> str:
    name = resource.strip("/")
    name = name if name.endswith((".yaml", ".md")) else f"{name}.yaml"
    return f"{here.under}/{name}" if here.under else name


def _unknown(here: Here, resource: str) -> BbopsError:
    head = here.store.find_commit("HEAD")
    entries = here.store.entries(head, here.under) if head else ()
    names = [str(one.path).removesuffix(".yaml") for one in entries]
    hint = suggest(resource.strip("/").removesuffix(".yaml"), names)
    return BbopsError(f"no commit contains a resource '{resource[:100]}'",
                      hint=hint or "such as endpoints/orders/list")  # fmt: skip
