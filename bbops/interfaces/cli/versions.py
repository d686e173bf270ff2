"""List the published versions of a project, which are tags of its repository."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from bbops.base.console import say
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._local_project import (
    find_local_project,
    path_option,
    project_option,
    read_own_versions,
)

_FACTS = ("Author", "Proposal", "Plan")


@examples("bbops versions", "bbops versions --limit 5")
@click.command()
@path_option
@project_option
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1), help="How many.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(folder: Path, project: str, limit: int, *, as_json: bool) -> None:
    """List the published versions, newest first.

    A server tags each commit it publishes, as bbops/PROJECT/v1 and so on; in a clone, 'git fetch
    --tags' brings the newest. 'bbops diff v1 v2' shows what changed, 'bbops rollback v1' rolls
    back.
    """
    versions = read_own_versions(find_local_project(folder), project)[:limit]
    if as_json:
        say(
            json.dumps(
                [{**asdict(version), "facts": dict(version.facts)} for version in versions],
                indent=2,
            )
        )
        return
    for version in versions:
        name = click.style(f"{version.short:<6}", bold=True)
        time = version.at[:16].replace("T", " ")
        say(f"{name} {time}  {version.commit[:12]}  {printable(version.subject)}")
        facts = [f"{key.lower()} {version.facts[key]}" for key in _FACTS if version.facts.get(key)]
        if facts:
            say(f"       {click.style(printable(' · '.join(facts)), dim=True)}")
    if not versions:
        say("nothing has been published yet; 'bbops serve' publishes the branch main, and tags it")
