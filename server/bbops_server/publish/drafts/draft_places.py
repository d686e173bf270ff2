"""The addresses of a draft: below its project, or on its own host."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bbops_server.process.messages.drafts import DraftPlace
from bbops_server.publish.drafts.draft_names import draft_name, host_label, key_of
from bbops_server.publish.sources.context import PublishContext
from bbops_server.settings import ProjectSettings

USE_REPORT_SECONDS: Final = 20.0
"""The least time between two reports of a draft's use by a process."""


def make_settings(context: PublishContext, slug: str, branch: str) -> ProjectSettings:
    """Return the settings of a draft, which is followed like a project."""
    project, own_host = context.project, _own_host(context, slug)
    return replace(
        project, state=project.state / "drafts" / slug, name=draft_name(project.name, slug),
        branch=branch, hosts=(own_host,) if own_host else project.hosts,
        prefix="" if own_host else _prefix(context, slug), postgres=None,
    )  # fmt: skip


def make_place(context: PublishContext, slug: str, branch: str) -> DraftPlace:
    """Return the address of a draft for data processes. Raises: ServerError: no key file."""
    settings = context.plane.settings
    url = settings.url_of(make_settings(context, slug, branch))
    return DraftPlace(
        branch, context.project.hosts, _prefix(context, slug),
        make_key(context, slug, branch).hex(), settings.control_url, url.startswith("https:"),
        min(USE_REPORT_SECONDS, settings.drafts.idle_seconds / 4), _own_host(context, slug), url,
    )  # fmt: skip


def make_key(context: PublishContext, slug: str, branch: str) -> bytes:
    """Return the signing key of a draft's tokens. Raises: ServerError: no key file."""
    state = context.plane.settings.state
    return key_of(state, draft_name(context.project.name, slug), branch)


def _own_host(context: PublishContext, slug: str) -> str:
    label = host_label(slug, "" if context.plane.has_one_project else context.project.name)
    return context.plane.settings.drafts.host_of(label)


def _prefix(context: PublishContext, slug: str) -> str:
    return f"{context.project.prefix}/~drafts/{slug}"
