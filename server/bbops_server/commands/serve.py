"""Serve a repository: each commit changes the live API."""

from __future__ import annotations

from pathlib import Path

import click

from bbops_server.commands._options import address_options, require_platform, state_folder


@click.command("serve")
@click.argument("repository", default=".", type=click.Path(path_type=Path))
@address_options
@click.option("--branch", default="main", show_default=True, help="The branch that is live.")
@click.option("--path", default="", metavar="FOLDER", help="The project's folder in a monorepo.")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON per event.")
def command(
    repository: Path, host: str, port: int, control_port: int, state: Path | None,
    branch: str, path: str, *, as_json: bool,
) -> None:  # fmt: skip
    """Serve REPOSITORY (by default this folder) and follow its branch.

    The API listens on --host and --port, the control plane on loopback. A commit is live within
    a second; one with a mistake is refused, and the last good release serves on.
    Stop it with Ctrl-C: requests that began are answered first.
    """
    require_platform()
    from bbops.git.store import require_git  # noqa: PLC0415 - after --help, which needs no git
    from bbops_server.commands._run import run_server  # noqa: PLC0415
    from bbops_server.reconciler.sources import BranchSource  # noqa: PLC0415
    from bbops_server.settings import Settings  # noqa: PLC0415

    require_git()
    source = BranchSource(repository, branch, path)
    settings = Settings(
        repository=repository.absolute(), state=state_folder(repository, state), mode="serve",
        host=host, port=port, control_port=control_port, branch=branch, path=path,
    )  # fmt: skip
    run_server(settings, source, as_json=as_json)
