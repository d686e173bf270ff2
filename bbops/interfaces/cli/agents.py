"""List the agents of a project and their runs, decide about their calls, and talk to them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import click
from click.core import ParameterSource

from bbops.base.console import say
from bbops.base.errors import ProjectError, ServerAway, ServerError
from bbops.base.json_work import AgentCall, AgentRun, AgentRunStory, AgentUsage, DecidedCall
from bbops.base.render import printable
from bbops.interfaces.cli._agent_lines import (
    AgentTalk,
    ListedAgent,
    agent_line,
    call_line,
    call_text,
    run_line,
    story_lines,
)
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli._server import open_remote
from bbops.interfaces.cli._target import (
    ProjectTarget,
    confirm,
    limit_option,
    print_list,
    with_project_target,
    with_target,
    yes_option,
)
from bbops.interfaces.cli.validate import require_project
from bbops.source.tree import FolderTree

_NONE: Final = "no agents; 'bbops new agent' creates one"
_DRAFT_HOURS: Final = 1
_agent_option = click.option("--agent", default="", metavar="NAME", help="Only of this agent.")


@examples("bbops agents list", "bbops agents traces --agent helpdesk")
@click.group(cls=CommandGroup)
def command() -> None:
    """Manage agents: developers see their runs, maintainers decide about their calls.

    RUN below is a run's name, as 'bbops agents traces' shows it. Runs are kept for 30 days.
    """


@examples("bbops agents list")
@command.command("list")
@click.option("--path", "folder", default=None, type=click.Path(path_type=Path), metavar="DIR",
              help="The project; by default the one around the current folder.")  # fmt: skip
@with_project_target
def list_agents(folder: Path | None, target: ProjectTarget) -> None:
    """List the agents in the files of a project: model, starts and tools.

    If its server answers, the runs of the last day are shown, with their tokens and their cost.
    """
    agents = _read_agents(folder)
    usage = {used.agent: used for used in _find_usage(target)} if agents else {}
    listed = [ListedAgent.of(agent, usage.get(agent.name)) for agent in agents]
    print_list(listed, agent_line, none=_NONE, as_json=target.as_json)


@examples("bbops agents traces --agent helpdesk", "bbops agents traces agents/helpdesk/chat@17")
@command.command("traces")
@click.argument("run", default="")
@_agent_option
@limit_option
@with_target
def show_traces(run: str, agent: str, limit: int, target: ProjectTarget) -> None:
    """List runs, newest first, or show each step of RUN with its tokens and milliseconds.

    Arguments and results of tools are shown without secrets and private columns.
    """
    if run:
        story = target.read(f"agents/runs/story?run={quote(run, safe='')}", AgentRunStory)
        target.print(story, *story_lines(story))
        return
    path = f"agents/runs?agent={quote(agent, safe='')}&limit={limit}"
    runs = target.read(path, list[AgentRun])
    print_list(runs, run_line, none="no runs in the last 30 days", as_json=target.as_json)


@examples("bbops agents approve", "bbops agents approve 5f0c1d2e --reject")
@command.command("approve")
@click.argument("call", default="")
@click.option("--reject", is_flag=True, help="Reject the call; the agent goes on without it.")
@_agent_option
@yes_option
@with_target
def approve(call: str, agent: str, target: ProjectTarget, *, reject: bool, yes: bool) -> int:
    """Approve CALL, or list the calls that wait for an approval.

    The tool and its arguments are shown before the question. CALL may be the beginning of an id.
    """
    path = f"agents/calls?agent={quote(agent, safe='')}&limit=1000"
    waiting = target.read(path, list[AgentCall])
    if not call:
        print_list(waiting, call_line, none="no calls wait", as_json=target.as_json)
        return 0
    found = _choose(waiting, call)
    if not yes:
        action = "reject" if reject else "approve"
        if not confirm(f"{action} {call_text(found.tool, found.arguments)}?"):
            return 1
    decided = _decide(target, found.id, is_approved=not reject)
    target.print(decided, _decided_line(decided))
    return 0 if decided.is_changed else 1


@examples("bbops agents chat helpdesk", "bbops agents chat helpdesk 'Where is my order?'")
@command.command("chat")
@click.argument("agent")
@click.argument("message", default="")
@click.option("--chat", default="", metavar="ID", help="Continue this chat.")
@click.option(
    "--token", default="", envvar="BBOPS_PROJECT_TOKEN", show_envvar=True, metavar="TOKEN",
    help="A token of a user of the project, for a chat that users sign in to.",
)  # fmt: skip
@with_target
def talk(agent: str, message: str, chat: str, token: str, target: ProjectTarget) -> int:
    """Send MESSAGE to AGENT, and print its answer as it comes.

    Without MESSAGE, each line that you type is one, until Ctrl-D; a pipe is read as one message.
    Questions about calls appear on a terminal only; elsewhere, a call that waits gives exit code 1.
    """
    is_terminal = sys.stdin.isatty()
    with _open_talk(agent, token, target, asks=is_terminal and not target.as_json) as talking:
        talking.chat = chat
        if message or not is_terminal:
            return _send(talking, message or _read_pipe(), target)
        for line in _typed_lines():
            _send(talking, line, target)
        return 0


# ---- list
def _read_agents(folder: Path | None) -> list[Any]:
    """Return the agents of a project's files, by name.

    Raises:
        BbopsError: there is no project.
        ProjectError: the project has errors.
    """
    from bbops.edit.authoring.folder import find_root  # noqa: PLC0415 - after --help

    folder = folder or find_root(Path()) or Path()
    require_project(folder)
    from bbops.compiler.check import validate  # noqa: PLC0415 - pydantic and every step
    from bbops.review.outline.relations import Relations  # noqa: PLC0415 - as above
    from bbops.review.outline.work import outline_agents  # noqa: PLC0415 - as above

    tree = FolderTree(folder)
    project, diagnostics = validate(tree, base=tree)
    if project is None:
        raise ProjectError(diagnostics)
    return [*outline_agents(Relations.of(project))]


def _find_usage(target: ProjectTarget) -> list[AgentUsage]:
    """Return the usage of the last day; none if no server runs at the usual address."""
    try:
        return target.read("agents/usage", list[AgentUsage])
    except ServerAway:
        source = click.get_current_context().get_parameter_source("server")
        if source is ParameterSource.DEFAULT:
            return []
        raise


# ---- approve
def _choose(waiting: list[AgentCall], given: str) -> AgentCall:
    """Return the call with an id, or with the beginning of one.

    Raises:
        ServerError: no call has it, or several have.
    """
    found = [call for call in waiting if call.id.startswith(given)]
    if len(found) == 1:
        return found[0]
    number = f"{len(found)} calls wait" if found else "no call waits"
    hint = "'bbops agents approve' lists the calls that wait"
    raise ServerError(f"{number} with the id '{given}'", hint=hint)


def _decide(target: ProjectTarget, call: str, *, is_approved: bool) -> DecidedCall:
    body = {"call": call, "approve": is_approved}
    return target.change("agents/calls/decide", DecidedCall, body)


def _decided_line(decided: DecidedCall) -> str:
    call = decided.call
    if decided.is_changed:
        return (
            f"{call.state} {printable(call.tool)}; 'bbops agents traces {call.run}' shows the run"
        )
    by = f" by {printable(call.decided_by)}" if call.decided_by else ""
    return f"nothing to decide: the call is {call.state}{by}"


# ---- chat
@contextmanager
def _open_talk(agent: str, token: str, target: ProjectTarget, *, asks: bool) -> Iterator[AgentTalk]:
    """Open a talk with an agent of the live project or of a draft.

    Raises:
        BbopsError: the server cannot be reached, or the project has no address.
    """
    from bbops.interfaces.client.agent_chat import AgentChat  # noqa: PLC0415 - httpx

    url, draft_token = _find_api(target)

    def decide(call: str, is_approved: bool) -> None:
        _decide(target, call, is_approved=is_approved)

    client = AgentChat(url, agent.removeprefix("agents/"), token=token, draft_token=draft_token)
    with closing(client):
        yield AgentTalk(client, decide, bool(token), asks, not target.as_json)


def _find_api(target: ProjectTarget) -> tuple[str, str]:
    """Return the URL of the API, and the token for a draft; empty for live."""
    with open_remote(target.server) as remote:
        name = target.project or remote.only_project()
        if target.draft is not None:
            slug = remote.draft(name, target.draft).slug
            access = remote.open_draft(name, slug, _DRAFT_HOURS)
            return access.url, access.token
        url = remote.status(name).url
    if not url:
        raise ServerError(f"project '{name}' has no address yet")
    return url, ""


def _read_pipe() -> str:
    """Return the message in the input. Raises: UsageError: it is empty."""
    message = sys.stdin.read().strip()
    if not message:
        raise click.UsageError("the message is missing: give MESSAGE, or write it to the input")
    return message


def _typed_lines() -> Iterator[str]:
    """Yield the lines that a user types, until the end of the input."""
    while True:
        click.echo("> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            click.echo(err=True)
            return
        if line.strip():
            yield line.strip()


def _send(talking: AgentTalk, message: str, target: ProjectTarget) -> int:
    """Send a message and print the end of its turn; return 1 if calls wait for an approval."""
    result = talking.send(message)
    if target.as_json:
        say(json.dumps(result))
    else:
        for call in result["approvals"]:
            text = call_text(call["tool"], call["arguments"])
            click.echo(f"waits for an approval: {text}", err=True)
            click.echo(f"    hint: bbops agents approve {printable(call['id'])}", err=True)
        click.echo(f"chat {printable(talking.chat)}", err=True)
    return 1 if result["approvals"] else 0
