"""Make a project, serve it, and see what it does."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from bbops.interfaces.cli._command_group import examples
from bbops_server.commands._settings import address_options, require_platform, state_folder


@examples("bbops demo", "bbops demo --once")
@click.command("demo")
@click.option("--once", is_flag=True, help="Run the whole demo without input, print it, and exit.")
@click.option(
    "--dir", "folder", default="bbops-demo", show_default=True, type=click.Path(path_type=Path),
    help="The folder for the project; an existing project is served again.",
)  # fmt: skip
@address_options
def command(
    folder: Path, host: str, port: int, control_port: int, state: Path | None, *, once: bool
) -> None:
    """Make the template's project in --dir and serve it, ready to be changed and committed.

    With --once, the whole story is played in a temporary folder: sign up, sign in, write, change a
    file, commit, make a mistake. It takes some seconds.
    """
    require_platform()
    from bbops.source.git.store import require_git  # noqa: PLC0415 - after --help, which needs no git

    require_git()
    if once:
        from bbops_server.commands._story import tell  # noqa: PLC0415

        with tempfile.TemporaryDirectory(prefix="bbops-demo-") as temporary:
            tell(Path(temporary) / "my-backend")
        return
    make_project(folder)
    from bbops_server.commands._run import run_project  # noqa: PLC0415
    from bbops_server.publish.sources.sources import BranchSource  # noqa: PLC0415
    from bbops_server.settings import ProjectSettings, Settings  # noqa: PLC0415

    settings = Settings(
        state_folder(folder, state), host=host, port=port, control_port=control_port
    )
    project, source = ProjectSettings(settings.state), BranchSource(folder, "main")
    run_project(settings, project, source, as_json=False, tips=tips(folder))


def make_project(folder: Path) -> None:
    """Make the template's project, unless it exists."""
    if (folder / ".git").exists():
        return
    from bbops.interfaces.cli.init import MESSAGE, require_empty, template_files  # noqa: PLC0415
    from bbops.source.git.store import init  # noqa: PLC0415

    files = template_files("my-backend")
    require_empty(folder)
    init(folder, files, message=MESSAGE)


def tips(folder: Path) -> str:
    """Return the tips for a live project; `{url}` stands for its address."""
    account = '{{"email": "ada@example.com", "password": "correct horse", "name": "Ada"}}'
    return (
        "try it in another terminal:\n"
        f"  curl {{url}}/api/auth/register -d '{account}'\n"
        f"  cd {folder}, edit functions/notes/list.yaml, git commit -am 'Change the list'\n"
        "Ctrl-C stops the server"
    )
