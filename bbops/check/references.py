"""Names of other resources must exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bbops.diagnostics import Diagnostic, Place, suggest
from bbops.project import Project


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield every reference to something that is not there."""
    for endpoint in project.endpoints.values():
        model = endpoint.model
        yield from _known(
            project, endpoint.place("function"), "function", model.function, project.functions
        )
        if model.channel is not None:
            yield from _known(
                project, endpoint.place("channel"), "channel", model.channel, project.channels
            )
    for channel in project.channels.values():
        for at, name in enumerate(channel.model.middleware):
            where = channel.place("middleware", at)
            yield from _known(project, where, "function", name, project.functions)
    auth = project.settings.model.auth
    if auth is not None:
        if auth.users is not None:
            yield from _known(
                project, project.settings.place("auth", "users"), "table", auth.users,
                project.tables,
            )  # fmt: skip
        if auth.key_name not in project.settings.model.env:
            yield _undeclared(project, auth.key_name)


def _known(
    project: Project, at: Place, kind: str, name: str, known: Iterable[str]
) -> Iterator[Diagnostic]:
    names = list(known)
    if name not in names and (f"{kind}s", name) not in project.broken:
        folder = f"{kind}s/{name}.yaml"
        hint = suggest(name, names) or f"make {folder}"
        yield Diagnostic(at, f"unknown-{kind}", f"{kind} '{name}' does not exist", hint)


def _undeclared(project: Project, name: str) -> Diagnostic:
    return Diagnostic(
        project.settings.place("auth", "signingKey"), "unknown-env",
        f"env variable '{name}' is not declared",
        suggest(name, project.settings.model.env) or f"add 'env: {{ {name}: {{ secret: true }} }}'",
    )  # fmt: skip
