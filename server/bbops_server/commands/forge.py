"""Connect projects to the forges of their repositories, and show what works there."""

from __future__ import annotations

import asyncio
import json
import secrets as randomness
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from bbops.base.console import say
from bbops.base.errors import BbopsError, ServerError
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops_server.commands._env_values import find_env_state, read_piped, require_text
from bbops_server.commands._forge_projects import (
    ForgeConnection,
    ForgeProject,
    describe_rights,
    find_bound,
    find_project,
    read_status,
    summarize_rights,
)
from bbops_server.commands._projects import where_state
from bbops_server.forges.hosted import ForgeConflict, ForgeForbidden, ForgeGone
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.settings.repositories import FORGE_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bbops_server.forges.hosted import HostedForge
    from bbops_server.forges.values import ForgeRight
    from bbops_server.process.host.secrets import Secrets

_MAX_TOKEN: Final = 10_000
of_file = click.option(
    "--file", type=click.Path(path_type=Path), default=Path("server.yaml"), show_default=True,
    metavar="FILE", help="The settings of the server.",
)  # fmt: skip
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@examples("bbops forge connect shop", "bbops forge status")
@click.group("forge", cls=CommandGroup)
def command() -> None:
    """Connect projects to GitHub, Gitea, Forgejo or GitLab, and show what works there.

    Works on the server's own machine, in the folder of server.yaml. Secrets are stored encrypted in
    the server's state folder.
    """


@examples("bbops forge connect shop", "bbops forge connect shop --app --organization acme")
@command.command("connect")
@click.argument("project")
@click.option(
    "--kind", type=click.Choice(FORGE_KINDS), help="The kind of forge, if it cannot be found out."
)
@click.option("--app", "as_app", is_flag=True, help="Create a GitHub App in place of a token.")
@click.option("--organization", default="", metavar="NAME", help="The owner of the App.")
@click.option("--no-browser", is_flag=True, help="Print the URL instead of opening a browser.")
@of_file
@where_state
@as_json_option
def connect(
    project: str, kind: str | None, organization: str, file: Path, state: Path | None, *,
    as_app: bool, no_browser: bool, as_json: bool,
) -> int:  # fmt: skip
    """Connect PROJECT to its forge by a token or a GitHub App.

    The token is read from a prompt or a pipe: bbops forge connect shop < token. Each right is
    tried, and missing rights are listed with their purpose. The token is stored even then, and the
    command exits with 1. The webhook is created if the token allows it.
    """
    found = find_project(file, project, kind)
    store = _open_store(state)
    if as_app:
        return _connect_app(found, store, organization, opens=not no_browser, as_json=as_json)
    if found.binding.app is not None:
        raise ServerError(
            f"'{project}' uses a GitHub App",
            hint=f"'bbops forge status {project}' shows its rights",
        )
    token = _read_token(found)
    rights = asyncio.run(_try_token(found, store, token))
    store.set(found.binding.token_env, token)
    hook = asyncio.run(_set_webhook(found, store, _webhook_secret(found, store)))
    _report(found, rights, hook, as_json=as_json)
    return int(not all(right.is_granted for right in rights))


@examples("bbops forge status", "bbops forge status shop --json")
@command.command("status")
@click.argument("project", required=False)
@of_file
@where_state
@as_json_option
def status(project: str | None, file: Path, state: Path | None, *, as_json: bool) -> int:
    """Show the rights, limits, webhook and open pull requests of PROJECT, or of all projects.

    Exits with 1 if a right is missing or a forge rejects its credential.
    """
    projects, store = find_bound(file, project), _open_store(state)
    found = [asyncio.run(_read_status(each, store)) for each in projects]
    if as_json:
        say(json.dumps({"projects": [each.summarize() for each in found]}))
    elif not found:
        say(
            f"no project in '{file}' has 'forge' with a credential; 'bbops forge connect NAME'"
            " stores one and prints the line to add"
        )
    else:
        say("\n".join(line for each in found for line in each.lines()))
    return int(not all(each.is_complete for each in found))


@examples("bbops forge secret shop")
@command.command("secret")
@click.argument("project")
@of_file
@where_state
@as_json_option
def new_secret(project: str, file: Path, state: Path | None, *, as_json: bool) -> None:
    """Make a new webhook secret for PROJECT, and print it once.

    For a webhook that is added by hand in the settings of the repository. The former secret is not
    valid any more.
    """
    found, store = find_project(file, project, None), _open_store(state)
    secret = randomness.token_urlsafe(32)
    store.set(found.binding.secret_env, secret)
    if as_json:
        data = {"project": project, "address": found.hook_address, "secret": secret}
        say(json.dumps(data))
        return
    say(f"address  {found.hook_address or _NO_ADDRESS}\nsecret   {secret}")
    click.echo("it is stored, and is not shown again", err=True)


_NO_ADDRESS: Final = "unknown until 'urls: { control: https://… }' is in server.yaml"


def _open_store(state: Path | None) -> Secrets:
    from bbops_server.process.host.secrets import Secrets  # noqa: PLC0415 - after --help

    return Secrets.open(find_env_state(state).make())


def _read_token(project: ForgeProject) -> str:
    """Return the token, without spaces around it. Raises: ServerError: there is none."""
    name = project.binding.token_env
    if sys.stdin.isatty():
        text = require_text(str(click.prompt(name, hide_input=True)))
    else:
        text = read_piped(_MAX_TOKEN)
    if not (token := text.strip()):
        raise ServerError(
            "no token was given",
            hint=f"read it from a file: bbops forge connect {project.binding.project} < token",
        )
    return token


async def _try_token(project: ForgeProject, store: Secrets, token: str) -> Sequence[ForgeRight]:
    """Return the rights of a token that is not stored yet.

    Raises:
        ServerError: the forge rejects the token, or the token cannot see the repository.
    """
    forge = project.open(store.with_values({project.binding.token_env: token}))
    try:
        rights = await forge.check_rights()
        if not all(right.is_granted for right in rights):
            await _require_visible(project, forge)
        return rights
    finally:
        await forge.aclose()


async def _require_visible(project: ForgeProject, forge: HostedForge) -> None:
    """Check that a token can see the repository. Raises: ServerError: it cannot."""
    with suppress(ForgeForbidden):  # it can be seen, but not its pull requests
        try:
            await forge.list_open(project.branch)
        except ForgeGone:
            binding = project.binding
            raise ServerError(
                f"'{binding.url}' shows no repository '{binding.repository}' to this token: it"
                f" does not exist, is not on {binding.kind}, or is not one of the token's",
                hint="check the address in server.yaml, and the repositories of the token",
            ) from None


def _webhook_secret(project: ForgeProject, store: Secrets) -> str:
    """Return the secret of the webhook, a new one if there is none."""
    name = project.binding.secret_env
    if not (secret := store.find(name)):
        secret = randomness.token_urlsafe(32)
        store.set(name, secret)
    return secret


async def _set_webhook(project: ForgeProject, store: Secrets, secret: str) -> bool:
    """Create the webhook, or replace its secret; return whether the credential allows it."""
    if not project.hook_address:
        return False
    forge = project.open(store)
    try:
        await forge.set_webhook(project.hook_address, secret)
    except (ForgeForbidden, ForgeGone, ForgeConflict):
        return False
    finally:
        await forge.aclose()
    return True


async def _read_status(project: ForgeProject, store: Secrets) -> ForgeConnection:
    try:
        forge = project.open(store)
    except BbopsError as error:
        return ForgeConnection(project, error=error)
    try:
        return await read_status(project, forge)
    finally:
        await forge.aclose()


def _report(
    project: ForgeProject, rights: Sequence[ForgeRight], has_hook: bool, *, as_json: bool
) -> None:
    binding = project.binding
    settings = "" if project.is_written else project.settings()
    if as_json:
        say(json.dumps({
            "project": binding.project, "stored": binding.token_env,
            "rights": summarize_rights(rights), "settings": settings,
            "webhook": {"address": project.hook_address, "created": has_hook},
        }))  # fmt: skip
        return
    say("\n".join(describe_rights(rights)))
    say(f"the token is stored as {binding.token_env}")
    say(_describe_hook(project, has_hook=has_hook))
    if settings:
        say(f"add to 'projects: {{ {binding.project}: … }}' of server.yaml:\n\n    {settings}\n")


def _describe_hook(project: ForgeProject, *, has_hook: bool) -> str:
    if has_hook:
        return f"the webhook calls {project.hook_address}"
    address = project.hook_address or _NO_ADDRESS
    return (
        f"add the webhook in the settings of the repository, with {_find_form(project)}:\n"
        f"    address  {address}\n"
        f"    secret   'bbops forge secret {project.binding.project}' makes one and prints it"
    )


def _find_form(project: ForgeProject) -> str:
    """Return the fields of the form of a webhook: GitLab asks for triggers, others for a type."""
    if project.binding.kind == "gitlab":
        return "the triggers for push, tag push and merge request events"
    return "content type JSON"


def _connect_app(
    project: ForgeProject, store: Secrets, organization: str, *, opens: bool, as_json: bool
) -> int:
    from bbops_server.commands._app_manifest import (  # noqa: PLC0415 - after --help
        AppRequest,
        ManifestServer,
        convert,
    )

    binding = project.binding
    if binding.kind != "github":
        raise ServerError(f"'{binding.kind}' has no Apps", hint="leave --app out, and give a token")
    home = project.hook_address.partition("/hooks/")[0] or binding.url
    request = AppRequest(binding.project, binding.url, organization, project.hook_address, home)
    with ManifestServer(request) as server:
        _show_page(server.page, opens=opens, as_json=as_json)
        code = server.wait()
    app = asyncio.run(convert(binding.url, code, EgressPolicy(project.egress)))
    found = project.with_app(app.id)
    store.set(found.app_variable, app.pem)
    store.set(binding.secret_env, app.webhook_secret or randomness.token_urlsafe(32))
    install = f"{app.html_url}/installations/new"
    if as_json:
        say(json.dumps({
            "event": "created", "project": binding.project, "app": app.id, "install": install,
            "stored": [found.app_variable, binding.secret_env], "settings": found.settings(),
        }))  # fmt: skip
        return 0
    say(f"the App is created; install it for '{binding.repository}':\n\n    {install}\n")
    say(f"then set in 'projects: {{ {binding.project}: … }}' of server.yaml:\n")
    say(f"    {found.settings()}\n")
    return 0


def _show_page(page: str, *, opens: bool, as_json: bool) -> None:
    opener: Callable[[str], Any] | None = webbrowser.open if opens else None
    if as_json:
        say(json.dumps({"event": "open", "url": page}))
    else:
        say(f"open this in a browser on this machine, and create the App there:\n\n    {page}\n")
    sys.stdout.flush()
    if opener is not None and sys.stdout.isatty():
        opener(page)
