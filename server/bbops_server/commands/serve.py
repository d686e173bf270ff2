"""Serve a repository: each commit changes the live API."""

from __future__ import annotations

from pathlib import Path

import click

from bbops_server.commands._options import address_options, require_platform, state_folder


@click.command("serve")
@click.argument("repository", default=".")
@address_options
@click.option("--branch", default="main", show_default=True, help="The branch that is live.")
@click.option("--path", default="", metavar="FOLDER", help="The project's folder in a monorepo.")
@click.option(
    "--poll",
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    type=click.FloatRange(min=0.1, max=86_400),
    help="How often a repository elsewhere is looked at.",
)
@click.option("--json", "as_json", is_flag=True, help="One line of JSON per event.")
def command(
    repository: str, host: str, port: int, control_port: int, state: Path | None,
    branch: str, path: str, poll: float, *, as_json: bool,
) -> None:  # fmt: skip
    """Serve REPOSITORY (by default this folder) and follow its branch.

    REPOSITORY is a folder, or an address (https://, ssh://, git@host:path, file://) that is looked
    at every --poll seconds. The API listens on --host and --port, the control plane on loopback.
    A commit is live within a second of being seen; one with a mistake is refused, and the last good
    release serves on. Stop it with Ctrl-C: requests that began are answered first.
    """
    require_platform()
    from bbops.git.address import Address, require_branch  # noqa: PLC0415 - after --help
    from bbops.git.store import require_git  # noqa: PLC0415 - as all below; --help needs no git
    from bbops_server.commands._run import run_server  # noqa: PLC0415
    from bbops_server.reconciler.remote import RemoteSource  # noqa: PLC0415
    from bbops_server.reconciler.sources import BranchSource, Source  # noqa: PLC0415
    from bbops_server.settings import Settings  # noqa: PLC0415

    require_git()
    require_branch(branch)
    address = Address.parse(repository)
    source: Source
    if address is None:
        folder = Path(repository).absolute()
        source = local = BranchSource(folder, branch, path)
        state, holds = state_folder(folder, state), local.place.is_bare
    else:
        state, holds = state_folder(Path.cwd(), state), True
        folder = state / "mirror"
        source = RemoteSource(address, branch, folder, path=path, every_seconds=poll)
    settings = Settings(
        repository=folder, state=state, mode="serve", host=host, port=port,
        control_port=control_port, branch=branch, path=path, holds_rewrites=holds,
    )  # fmt: skip
    run_server(settings, source, as_json=as_json)
