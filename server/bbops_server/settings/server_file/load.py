"""Read `server.yaml` into settings, or into diagnostics.

The language's own loader reads it, so errors look like errors of a project: file, line, column and
fix. `${ env.NAME }` in a value stands for a variable of the server's environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from bbops.base.diagnostics import Diagnostic, has_errors
from bbops.base.diagnostics import Place as FilePlace
from bbops.source.yaml.document import Document
from bbops.source.yaml.document import load as load_document
from bbops_server.settings import is_loopback
from bbops_server.settings.server_file.model import ServedProject, ServerFile, split_listen

NAME = "server.yaml"
"""The name of the file in a folder."""

_ENV = re.compile(r"\$\{\s*env\.(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*\}")
_EXPRESSION = re.compile(r"\$\{")
_KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Read:
    """The result of reading the file; `file` is None if the diagnostics have errors."""

    file: ServerFile | None
    diagnostics: tuple[Diagnostic, ...]
    document: Document | None = None


def read_file(
    path: Path, env: Mapping[str, str] = os.environ, form: type[ServerFile] = ServerFile
) -> Read:
    """Read a server's file from disk; a read error is a diagnostic."""
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        found = Diagnostic(FilePlace(path.name), "unreadable", f"the file cannot be read: {reason}")
        return Read(None, (found,))
    return load(path.name, data, env, form)


def load(
    name: str, data: bytes, env: Mapping[str, str], form: type[ServerFile] = ServerFile
) -> Read:
    """Return the settings in a server's file.

    Args:
        name: the name of the file in diagnostics.
        data: the bytes of the file.
        env: the variables of `${ env.NAME }`.
        form: the model of the file.
    """
    document = load_document(data)
    if document.problems:
        return Read(None, tuple(
            Diagnostic(FilePlace(name, p.line, p.column), p.code, p.message, p.hint)
            for p in document.problems
        ))  # fmt: skip
    if not isinstance(document.root, dict):
        message = "the settings of a server are a map of keys"
        hint = "such as 'projects: {shop: {repository: ./shop}}'"
        return Read(None, (Diagnostic(FilePlace(name), "not-a-map", message, hint),))
    found = list(_check_env(name, document, env))
    if found:
        return Read(None, tuple(found))
    return _validate(name, document, env, form)


def _validate(
    name: str, document: Document, env: Mapping[str, str], form: type[ServerFile]
) -> Read:
    try:
        file = form.model_validate(_filled(document.root, env))
    except ValidationError as error:
        from bbops.language.loading.explain import explain  # noqa: PLC0415 - as in `place_of`

        found = sorted(explain(name, document, form, error))
        return Read(None, tuple(found), document)
    found = [
        *_check_places(name, document, file), *_check_https(name, document, file),
        *_check_draft_hosts(name, document, file),
    ]  # fmt: skip
    return Read(None if has_errors(found) else file, tuple(found), document)


def place_of(name: str, document: Document, path: _KeyPath, *, key: bool = False) -> FilePlace:
    """Return where a value stands, or its nearest parent."""
    from bbops.language.project import place  # noqa: PLC0415 - the language's models: only for mistakes

    return place(name, document, path, key=key)


# ---- the environment
def _check_env(name: str, document: Document, env: Mapping[str, str]) -> Iterator[Diagnostic]:
    for path, text in _texts(document.root):
        for found in _ENV.finditer(text):
            if found["name"] not in env:
                yield Diagnostic(
                    place_of(name, document, path), "missing-env",
                    f"the server's environment has no variable '{found['name']}'",
                    f"set it where the server is started: {found['name']}=…",
                )  # fmt: skip
        if _EXPRESSION.search(_ENV.sub("", text)):
            yield Diagnostic(
                place_of(name, document, path), "static",
                "expressions are not supported in this file",
                "only '${ env.NAME }', a variable of the server's environment",
            )  # fmt: skip


def _texts(node: Any, path: _KeyPath = ()) -> Iterator[tuple[_KeyPath, str]]:
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from _texts(value, (*path, key))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _texts(value, (*path, number))


def _filled(node: Any, env: Mapping[str, str]) -> Any:
    if isinstance(node, str):
        return _ENV.sub(lambda found: env[found["name"]], node)
    if isinstance(node, dict):
        return {str(key): _filled(value, env) for key, value in node.items()}
    return [_filled(value, env) for value in node] if isinstance(node, list) else node


# ---- rules across projects
def _check_places(name: str, document: Document, file: ServerFile) -> Iterator[Diagnostic]:
    """Find projects of which only one could ever answer."""
    taken: dict[tuple[str, str], str] = {}
    for project, served in file.projects.items():
        for number, host in enumerate(served.hosts or [""]):
            other = taken.setdefault((host, served.path_prefix), project)
            if other != project:
                yield _taken(name, document, served, project, other, number)


def _check_https(name: str, document: Document, file: ServerFile) -> Iterator[Diagnostic]:
    """Find a control plane that people of other machines would reach without https."""
    host, _ = split_listen(file.bind.control)
    if not is_loopback(host) and not (file.urls.control or "").startswith("https://"):
        yield Diagnostic(
            place_of(name, document, ("bind", "control")), "needs-https",
            f"the control plane would listen on '{host}' without https",
            "put an https proxy in front, and set its URL: 'urls: {control: https://…}'",
        )  # fmt: skip


def _check_draft_hosts(name: str, document: Document, file: ServerFile) -> Iterator[Diagnostic]:
    """Find hosts of projects and of the control plane among those that drafts answer on."""
    hosts = {host for one in file.projects.values() for host in one.hosts}
    hosts |= {urlsplit(url).hostname or "" for url in (file.urls.data, file.urls.control) if url}
    suffix = file.drafts.hosts[1:]
    for host in sorted(hosts) if suffix else ():
        if host.endswith(suffix) or host == suffix[1:]:
            yield Diagnostic(
                place_of(name, document, ("drafts", "hosts")), "duplicate-address",
                f"'{host}' serves live projects, and would share cookies with drafts",
                "use a separate domain for drafts",
            )  # fmt: skip


def _taken(
    name: str, document: Document, served: ServedProject, project: str, other: str, number: int
) -> Diagnostic:
    host = served.hosts[number] if served.hosts else ""
    path: _KeyPath = ("projects", project)
    path += ("hosts", number) if host else ("pathPrefix",) if served.path_prefix else ()
    at = place_of(name, document, path, key=len(path) == 2)
    where = f"{host}{served.path_prefix}" or "/"
    return Diagnostic(
        at, "duplicate-address", f"project '{other}' answers at '{where}' already",
        "give each project its own 'hosts' or 'pathPrefix'",
    )  # fmt: skip
