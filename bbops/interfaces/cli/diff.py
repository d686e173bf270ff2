"""Show the changes between two versions, or since one: contract, access, data, routes.

Exit codes: 0 without changes, 2 with changes, 1 if the changes cannot be determined.
"""

from __future__ import annotations

from pathlib import Path

import click

from bbops.interfaces.cli import plan
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._local_project import CompareCommand, path_option, project_option


@examples("bbops diff v1", "bbops diff v1 v2 --format markdown")
@click.command(cls=CompareCommand)
@click.argument("old")
@click.argument("new", default="HEAD")
@path_option
@project_option
@click.option(
    "form", "--format", type=click.Choice(("text", "markdown", "json")), default="text",
    show_default=True, help="The output format.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
@click.pass_context
def command(
    context: click.Context,
    old: str,
    new: str,
    folder: Path,
    project: str,
    form: str,
    *,
    as_json: bool,
) -> int:
    """Show what changed from OLD to NEW: versions such as v3, branches, tags or commits.

    NEW defaults to the current commit. The same as 'bbops plan OLD..NEW'.
    """
    exit_code: int = context.invoke(
        plan.command, revisions=f"{old}..{new}", against="", folder=folder, project=project,
        rows=None, form=form, as_json=as_json,
    )  # fmt: skip
    return exit_code
