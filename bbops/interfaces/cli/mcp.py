"""Connect coding agents to a server, and check the connection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from bbops.base.addresses import check_address
from bbops.base.console import say
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli._local_project import find_local_project
from bbops.interfaces.cli._server import as_json_option, of_server, open_remote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bbops.interfaces.mcp.installing.steps import InstallStep

NAME = "bbops"
of_clients = click.option(
    "--client", "names", multiple=True, metavar="NAME",
    help="A client, such as claude-code or cursor; by default the clients in use here.",
)  # fmt: skip
of_workspace = click.option(
    "--path", "workspace", default=".", metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path), help="The workspace.",
)  # fmt: skip
apply_option = click.option(
    "--yes", is_flag=True, help="Change the files; without it they are only listed."
)


@examples("bbops mcp init", "bbops mcp status")
@click.group(cls=CommandGroup)
def command() -> None:
    """Connect coding agents to a server, over the Model Context Protocol.

    No file ever holds a token: the client signs the user in, in the browser, on its first request.
    """


@examples("bbops mcp init", "bbops mcp init --client claude-code --yes")
@command.command("init")
@of_clients
@of_server
@of_workspace
@click.option(
    "--name", default=NAME, show_default=True, help="The server's name in the clients."
)  # fmt: skip
@apply_option
@as_json_option
def init(
    names: tuple[str, ...], server: str, workspace: Path, name: str, *, yes: bool, as_json: bool
) -> None:
    """Add a server to the MCP clients of a workspace.

    Without --yes no file is written; the steps are printed for an agent to carry out.
    """
    url = f"{check_address(server)}/mcp"
    _install(workspace, names, url, name, yes=yes, as_json=as_json, is_bound=False)


@examples("bbops mcp connect shop")
@command.command("connect")
@click.argument("project")
@of_clients
@of_server
@of_workspace
@apply_option
@as_json_option
def connect(
    project: str, names: tuple[str, ...], server: str, workspace: Path, *, yes: bool, as_json: bool
) -> None:
    """Connect a workspace to PROJECT: its agents get the tools of that project only.

    Only files of the workspace are changed. The address comes from the server.
    """
    from bbops.interfaces.answers import McpAddress  # noqa: PLC0415

    with open_remote(server) as remote:
        address = remote.of_project(project, "GET", "mcp", McpAddress)
    name = f"bbops-{quote(project, safe='')}"[:40].lower().replace("_", "-")
    _install(workspace, names, address.mcp_url, name, yes=yes, as_json=as_json, is_bound=True)


@examples("bbops mcp status", "bbops mcp status --client cursor")
@command.command("status")
@of_clients
@of_workspace
@click.option("--name", default=NAME, show_default=True, help="The server's name in the clients.")
@as_json_option
def status(names: tuple[str, ...], workspace: Path, name: str, *, as_json: bool) -> None:
    """Show which clients are configured for the server, and whether it responds."""
    from bbops.interfaces.mcp.installing.status import read_status  # noqa: PLC0415 - httpx: 100 ms

    result = read_status(workspace, names, name)
    if as_json:
        say(json.dumps(result, indent=2))
        return
    for client in result["clients"]:
        state = client.get("wrong", "not configured")
        if client["configured"]:
            state = f"{client['url']}  {_describe_check(client['reached'])}"
        say(f"{client['client']:<12} {printable(state)}")
    if not result["clients"]:
        say("no MCP client found here; add one with 'bbops mcp init --client NAME'")


@examples("bbops mcp serve --stdio")
@command.command("serve")
@click.option("--stdio", is_flag=True, required=True, help="Use standard input and output.")
@click.option("--live", default="", metavar="BRANCH", help="The live branch; main if not given.")
@click.option(
    "--path", "folder", default=".", type=click.Path(path_type=Path), metavar="DIR",
    help="The project; the current folder if not given.",
)  # fmt: skip
def serve(folder: Path, live: str, *, stdio: bool) -> None:
    """Serve the project of a checkout to an agent, without a server.

    The client starts it: configure the command 'bbops mcp serve --stdio'. Drafts are local
    branches. The working tree is not changed, unless the draft's branch is checked out here without
    changes.
    """
    del stdio
    from bbops.interfaces.mcp.local import open_checkout  # noqa: PLC0415 - not for the help

    local = find_local_project(folder, cannot="there is no project to work on")
    checkout = open_checkout(local.store, local.under, live)
    from bbops.interfaces.mcp.sdk_server import serve as serve_stdio  # noqa: PLC0415 - the SDK: 0.6 s

    try:
        serve_stdio(checkout)
    finally:
        checkout.close()


def _describe_check(check: dict[str, str]) -> str:
    if not check["reachable"]:
        return f"cannot be reached: {printable(check.get('reason', ''))}"
    if "protocolVersion" not in check:
        return "responds to signed-in users"
    return f"responds, MCP {check['protocolVersion']}"


def _install(
    workspace: Path, names: Sequence[str], url: str, name: str, *, yes: bool, as_json: bool,
    is_bound: bool,
) -> None:  # fmt: skip
    from bbops.interfaces.mcp.installing import steps as installing  # noqa: PLC0415 - tomlkit: 50 ms
    from bbops.interfaces.mcp.installing.files import make_guide  # noqa: PLC0415
    from bbops.interfaces.mcp.skills import read_skills  # noqa: PLC0415

    clients = installing.choose(names, workspace)
    folder = next(iter(clients.values())).skills
    skills = {skill.path: skill.text for skill in read_skills().values()}
    steps = installing.plan(
        workspace, clients, url, name=installing.check_name(name), files=skills,
        guide=make_guide(name, folder), in_workspace_only=is_bound,
    )  # fmt: skip
    if yes:
        steps = installing.carry_out(workspace, steps)
    if as_json:
        result = {"mcpUrl": url, "clients": [*clients], "steps": installing.as_json(steps)}
        say(json.dumps(result | {"next": _next(steps, name, yes=yes)}, indent=2))
        return
    for step in steps:
        word = "done" if step.done else "you " if step.kind == "ask_user" else "todo"
        say(f"{word}  {printable(step.title)}" + (f"  ({step.path})" if step.path else ""))
    say(_next(steps, name, yes=yes))


def _next(steps: Sequence[InstallStep], name: str, *, yes: bool) -> str:
    if not yes and any(not step.done and step.kind != "ask_user" for step in steps):
        return "no file was written; run the command with --yes to change these files"
    check = "bbops mcp status" + (f" --name {name}" if name != NAME else "")
    return f"restart the client, and sign in when it asks; '{check}' shows the connection"
