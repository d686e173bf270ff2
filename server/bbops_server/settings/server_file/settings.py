"""The settings of a server and of its projects, from a server's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bbops.base.diagnostics import Diagnostic
from bbops.base.model import Model
from bbops.database.schema.place import read_url
from bbops.runtime.values.units import seconds, size_bytes
from bbops.source.yaml.document import Document
from bbops_server.settings import (
    Access,
    BrowserSettings,
    BucketSettings,
    DraftSettings,
    FileSettings,
    ProjectSettings,
    Provider,
    Settings,
    Webhook,
    WorkSettings,
)
from bbops_server.settings.freezes import Freeze
from bbops_server.settings.server_file.ci import read_freeze, read_trusts
from bbops_server.settings.server_file.forge import read_binding
from bbops_server.settings.server_file.load import place_of
from bbops_server.settings.server_file.model import ServerFile, split_listen
from bbops_server.settings.server_file.webhook import read_webhook

_FIXED: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("bind", "data"), ("host", "port")),
    (("bind", "control"), ("control_host", "control_port")),
    (("workers",), ("workers",)),
    (("database",), ("database_url",)),
    (("files",), ("files",)),
    (("chromium",), ("browser",)),
)
"""The keys that only a restart changes, and their settings."""


def server_settings(file: ServerFile, state: Path, given: Mapping[str, Any]) -> Settings:
    """Return a server's settings; options `given` on the command line override the file."""
    host, port = split_listen(file.bind.data)
    control_host, control_port = split_listen(file.bind.control)
    found = Settings(
        state, host=host, port=port, control_host=control_host, control_port=control_port,
        workers=file.workers, data_shown=file.urls.data or "",
        control_shown=file.urls.control or "", access=access_settings(file),
        database_url=file.database, drafts=draft_settings(file), freezes=freeze_settings(file),
        egress=tuple(file.egress.allow), reads_clients=file.egress.client_documents,
        webhooks=webhook_settings(file), version_tag=file.version_tag,
        files=file_settings(file),
        browser=BrowserSettings(file.chromium.program, file.chromium.sandbox),
    )  # fmt: skip
    return replace(found, **given)


def freeze_settings(file: ServerFile) -> tuple[Freeze, ...]:
    """Return the times without publications."""
    return tuple(map(read_freeze, file.freeze))


def webhook_settings(file: ServerFile) -> tuple[Webhook, ...]:
    """Return the receivers of the server's webhooks."""
    return tuple(map(read_webhook, file.webhooks))


def access_settings(file: ServerFile) -> Access:
    """Return the settings of access to the control plane."""
    found = [
        Provider(
            one.name, "oidc", one.issuer, one.client_id, one.client_secret_env, one.join_by_email
        )
        for one in file.sign_in.oidc
    ]
    if (one := file.sign_in.github) is not None:
        secret, joins = one.client_secret_env, one.join_by_email
        found.append(Provider("github", "github", one.url, one.client_id, secret, joins))
    trusts = (
        trust
        for name, project in file.projects.items()
        for trust in read_trusts(name, project.branch, project.ci)
    )
    forges = (
        binding
        for name, project in file.projects.items()
        for binding in read_binding(name, project.forge, project.repository)
    )
    return Access(file.signup, tuple(file.proxies), tuple(found), tuple(trusts), tuple(forges))


def draft_settings(file: ServerFile) -> DraftSettings:
    """Return how many drafts there are, and how long they stay awake."""
    said = file.drafts
    return DraftSettings(said.idle_seconds, said.most, said.hosts, said.awake)


def work_settings(file: ServerFile) -> WorkSettings:
    """Return how many jobs run at a time, and how long ended ones are kept."""
    return WorkSettings(file.work.concurrency, seconds(file.work.keep))


def file_settings(file: ServerFile) -> FileSettings:
    """Return how much projects may keep, and where."""
    said = file.files
    most, bucket = size_bytes(said.most), None
    if said.endpoint and said.bucket and said.access_key_id and said.secret_access_key:
        bucket = BucketSettings(
            said.endpoint, said.bucket, said.region, said.access_key_id, said.secret_access_key
        )
    return FileSettings(most, said.most_files, bucket)


def project_settings(file: ServerFile, server: Settings) -> dict[str, ProjectSettings]:
    """Return the settings of each project by its name; on PostgreSQL each has its own schema."""
    url = server.database_url
    schemas = {name: f"bbops_{name.replace('-', '_')}" for name in file.projects}
    return {
        name: ProjectSettings(
            server.state / "projects" / name,
            name,
            one.branch,
            one.path,
            tuple(one.hosts),
            one.path_prefix,
            read_url(url, schemas[name]) if url else None,
        )
        for name, one in file.projects.items()
    }


def find_restarts(
    name: str, document: Document, old: ServerFile, new: ServerFile, given: Mapping[str, Any]
) -> Iterator[Diagnostic]:
    """Yield a warning for each change that only a restart brings into force.

    Args:
        name: what diagnostics call the file.
        document: of the new file.
        old: what the server was started with.
        new: what the file says now.
        given: settings of the command line; what the file says of them never counts.
    """
    for path, settings in _FIXED:
        before, now = _value(old, path), _value(new, path)
        if before != now and not set(settings) <= given.keys():
            said = "as it was" if isinstance(before, Model) else f"'{before}'"
            yield Diagnostic(
                place_of(name, document, path), "needs-restart",
                f"'{path[-1]}' stays {said} until the server is started again",
                "everything else in this file took effect", severity="warning",
            )  # fmt: skip


def _value(file: ServerFile, path: tuple[str, ...]) -> Any:
    found: Any = file
    for part in path:
        found = getattr(found, part)
    return found
