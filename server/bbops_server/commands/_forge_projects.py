"""The forges of a server's projects and their state, for `bbops forge`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import click

from bbops.base.diagnostics import Diagnostic
from bbops.base.errors import BbopsError, ProjectError, ServerError
from bbops.base.render import one_line, plural
from bbops_server.forges.hosted import ForgeForbidden, ForgeGone
from bbops_server.forges.values import RequestBudget
from bbops_server.settings.repositories import FORGE_KINDS, ForgeApp, ForgeBinding, ForgeKind

if TYPE_CHECKING:
    from bbops_server.forges.hosted import HostedForge
    from bbops_server.forges.values import ForgeRight, ForgeWebhook
    from bbops_server.process.host.secrets import Secrets
    from bbops_server.settings.server_file.model import ServedProject, ServerFile


ONE_PROJECT: Final = (
    "the server of one repository needs a server.yaml, too:"
    " 'projects: { shop: { repository: https://… } }', see docs/forges.md"
)
HINT: Final = f"run this in the folder of server.yaml, or name the file with --file; {ONE_PROJECT}"
_HOSTS: Final[Mapping[str, ForgeKind]] = {"github.com": "github", "gitlab.com": "gitlab"}


@dataclass(frozen=True, slots=True)
class ForgeProject:
    """A project and its forge.

    Attributes:
        binding: its forge, with the default names of variables for those that are not written.
        branch: the branch that is published.
        is_written: whether server.yaml has the whole binding.
        hook_address: the address of its webhook; empty while `urls.control` is not set.
        egress: the allowed addresses beside public ones.
    """

    binding: ForgeBinding
    branch: str
    is_written: bool
    hook_address: str
    egress: tuple[str, ...]

    def open(self, secrets: Secrets) -> HostedForge:
        """Return the client. Raises: ForgeError: the forge has no credential."""
        from bbops_server.forges.credentials import open_forge  # noqa: PLC0415 - after --help
        from bbops_server.process.host.egress import EgressPolicy  # noqa: PLC0415

        return open_forge(self.binding, secrets, EgressPolicy(self.egress))

    def settings(self) -> str:
        """Return the line of server.yaml for the binding."""
        binding = self.binding
        app = binding.app
        values = {
            "kind": binding.kind,
            "app": f"{{ id: {app.id}, keyEnv: {app.key_env} }}" if app else "",
            "tokenEnv": binding.token_env, "webhookSecretEnv": binding.secret_env,
        }  # fmt: skip
        pairs = ", ".join(f"{name}: {value}" for name, value in values.items() if value)
        return f"forge: {{ {pairs} }}"

    def with_app(self, number: int) -> ForgeProject:
        """Return the project with an App in place of its token."""
        app = ForgeApp(number, self.app_variable)
        written = self.binding.app == app
        return replace(
            self, binding=replace(self.binding, app=app, token_env=""), is_written=written
        )

    @property
    def app_variable(self) -> str:
        """The variable of the private key of its App."""
        app = self.binding.app
        return app.key_env if app else f"{_prefix(self.binding.project)}_FORGE_KEY"


def find_project(file: Path, name: str, kind: str | None) -> ForgeProject:
    """Return a project, with a binding for a token if server.yaml has none yet.

    Args:
        file: server.yaml.
        name: the project.
        kind: the kind of forge, where neither server.yaml nor the address says so.

    Raises:
        ServerError: there is no such project, or its forge is not known.
        ProjectError: server.yaml has mistakes.
    """
    read = read_servers(file)
    if name not in read.projects:
        raise ServerError(
            f"'{file}' has no project '{name}'", hint=f"it has {', '.join(read.projects)}"
        )
    project = read.projects[name]
    binding = next(_bindings(read, name), None) or _make_binding(name, project, kind)
    if kind and binding.kind != kind:
        raise ServerError(f"the forge of '{name}' is '{binding.kind}' in '{file}', not '{kind}'")
    found = _with_variables(binding)
    return ForgeProject(
        found, project.branch, found == binding and project.forge is not None,
        _hook_address(read, name), tuple(read.egress.allow),
    )  # fmt: skip


def find_bound(file: Path, name: str | None) -> list[ForgeProject]:
    """Return the projects whose forge has a credential in server.yaml. Raises as `find_project`."""
    read = read_servers(file)
    names = [binding.project for binding in _bindings(read) if binding.has_api]
    if name is not None and name not in names:
        if name in read.projects:
            hint = f"'bbops forge connect {name}' makes one"
            raise ServerError(f"the forge of '{name}' has no credential in '{file}'", hint=hint)
        names = [name]  # not in the file: the error names its projects
    return [find_project(file, each, None) for each in names if name in {None, each}]


def read_servers(file: Path) -> ServerFile:
    """Return server.yaml. Raises: ServerError: it is missing; ProjectError: it has mistakes."""
    from bbops_server.settings.server_file.load import read_file  # noqa: PLC0415 - after --help

    if not file.is_file():
        raise ServerError(f"there is no '{file}' here", hint=HINT)
    read = read_file(file, os.environ)
    if any(_lacks_projects(diagnostic) for diagnostic in read.diagnostics):
        raise ServerError(f"'{file}' has no 'projects'", hint=ONE_PROJECT)
    if read.file is None:
        raise ProjectError(read.diagnostics)
    return read.file


def _lacks_projects(diagnostic: Diagnostic) -> bool:
    return diagnostic.code == "missing-key" and diagnostic.message.startswith("'projects'")


def _bindings(read: ServerFile, name: str = "") -> Iterator[ForgeBinding]:
    from bbops_server.settings.server_file.settings import access_settings  # noqa: PLC0415

    forges = access_settings(read).forges
    return (binding for binding in forges if name in {"", binding.project})


def _make_binding(name: str, project: ServedProject, kind: str | None) -> ForgeBinding:
    """Return the binding of a project without `forge`, by the address of its repository."""
    from bbops_server.settings.server_file.forge import locate  # noqa: PLC0415 - after --help

    host = urlsplit(locate(project.repository)[0]).hostname or ""
    known = kind or _HOSTS.get(host, "")
    if known not in FORGE_KINDS:
        raise ServerError(
            f"the kind of the forge of '{project.repository}' is not known",
            hint=f"name it in server.yaml, 'forge: {{ kind: KIND }}', or in 'bbops forge connect"
            f" {name} --kind KIND': {', '.join(FORGE_KINDS)}",
        )
    url, path = locate(project.repository)
    if not url or not path:
        raise ServerError(
            f"the forge of '{project.repository}' is not known",
            hint=f"give 'url' and 'repository' of 'forge' of '{name}' in server.yaml",
        )
    return ForgeBinding(name, known, url, path)


def _with_variables(binding: ForgeBinding) -> ForgeBinding:
    """Return a binding with the default names of missing variables."""
    prefix = _prefix(binding.project)
    token = binding.token_env or ("" if binding.app else f"{prefix}_FORGE_TOKEN")
    secret = binding.secret_env or f"{prefix}_WEBHOOK_SECRET"
    return replace(binding, token_env=token, secret_env=secret)


def _hook_address(read: ServerFile, name: str) -> str:
    return f"{read.urls.control}/hooks/{name}" if read.urls.control else ""


def _prefix(project: str) -> str:
    return project.upper().replace("-", "_")


# ---- The state of a project's forge, for `bbops forge connect` and `bbops forge status`

_UNKNOWN: Final = RequestBudget()


@dataclass(frozen=True, slots=True)
class ForgeConnection:
    """The state of a forge.

    Attributes:
        rights: the rights of the credential; empty if it is not valid.
        webhook: the webhook; None without one, or if the credential may not read it.
        budget: the requests that the forge still accepts.
        open_pulls: the number of open pull requests.
        forks: the number of open pull requests from forks.
        error: the reason that the forge rejects the credential; empty without one.
    """

    project: ForgeProject
    rights: Sequence[ForgeRight] = ()
    webhook: ForgeWebhook | None = None
    budget: RequestBudget = _UNKNOWN
    open_pulls: int = 0
    forks: int = 0
    error: BbopsError | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the credential has all rights."""
        return self.error is None and all(right.is_granted for right in self.rights)

    def summarize(self) -> dict[str, Any]:
        """Return the state as JSON."""
        binding = self.project.binding
        return {
            "project": binding.project, "kind": binding.kind, "url": binding.url,
            "repository": binding.repository, "rights": summarize_rights(self.rights),
            "webhook": {
                "address": self.project.hook_address, "exists": self.webhook is not None,
                "last": self.webhook.last if self.webhook else "",
            },
            "requestsLeft": self.budget.left, "openPullRequests": self.open_pulls,
            "forks": self.forks, "forksWait": self._explain_waiting(),
            "error": self.error.message if self.error else "",
        }  # fmt: skip

    def lines(self) -> Iterator[str]:
        """Yield the state as text."""
        binding = self.project.binding
        yield f"{binding.project}: {binding.kind} {binding.url}/{binding.repository}"
        if self.error is not None:
            yield f"  error    {one_line(self.error.message)}"
            if self.error.hint:
                yield f"           hint: {one_line(self.error.hint)}"
            return
        yield from (f"  {line}" for line in describe_rights(self.rights))
        yield f"  webhook  {self._describe_webhook()}"
        left = "" if self.budget.left is None else f", {self.budget.left} requests left"
        yield f"  open     {plural(self.open_pulls, 'pull request')}{left}"
        if waiting := self._explain_waiting():
            yield f"  forks    {plural(self.forks, 'pull request')} from forks wait: {waiting}"

    def _explain_waiting(self) -> str:
        """Return why pull requests from forks wait; empty if they do not."""
        return self.budget.explain() if self.forks else ""

    def _describe_webhook(self) -> str:
        address = self.project.hook_address
        if not address:
            return "no address: 'urls: { control: https://… }' is not set"
        if self.webhook is None:
            return f"{address} is not known at the forge, or the credential may not read webhooks"
        last = f", last delivery: {self.webhook.last}" if self.webhook.last else ""
        return f"{address}{last}"


async def read_status(project: ForgeProject, forge: HostedForge) -> ForgeConnection:
    """Return the state of a forge, with the error if it rejects the credential."""
    try:
        rights = await forge.check_rights()
        pulls = await forge.list_open(project.branch)
        webhook = await _find_webhook(project, forge)
    except BbopsError as error:
        return ForgeConnection(project, error=error)
    forks = sum(pull.is_fork for pull in pulls)
    return ForgeConnection(project, rights, webhook, forge.budget, len(pulls), forks)


async def _find_webhook(project: ForgeProject, forge: HostedForge) -> ForgeWebhook | None:

    try:
        return await forge.find_webhook(project.hook_address) if project.hook_address else None
    except (ForgeForbidden, ForgeGone):  # only some credentials read webhooks
        return None


def summarize_rights(rights: Sequence[ForgeRight]) -> list[dict[str, Any]]:
    """Return rights as JSON."""
    return [
        {"name": right.name, "purpose": right.purpose, "granted": right.is_granted}
        for right in rights
    ]


def describe_rights(rights: Sequence[ForgeRight]) -> Iterator[str]:
    """Yield a line for each right."""
    for right in rights:
        word = "ok     " if right.is_granted else click.style("missing", fg="red")
        yield f"{word}  {right.name}: {right.purpose}"
