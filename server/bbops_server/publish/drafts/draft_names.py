"""The name of a draft, its addresses, and the signing key of its tokens."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Container, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from bbops.source.git.proposals import PREVIEW
from bbops_server.data_plane.drafts.keys import derive_key
from bbops_server.process.host.files import keep_key
from bbops_server.process.messages.drafts import DraftPlace
from bbops_server.publish.sources.context import PublishContext
from bbops_server.settings import ProjectSettings

MAX_LETTERS: Final = 40
_MARK_LETTERS = 12
"""Enough digits that a second branch with the same mark cannot be found."""
_MARKED = re.compile(rf"(?:.*-)?[0-9a-f]{{{_MARK_LETTERS}}}").fullmatch
_MAX_LABEL = 63
"""The longest label of a host name: RFC 1035 section 2.3.4."""
_KEY_BYTES = 32


def choose(branches: Iterable[str], used: Container[str], limit: int) -> list[str]:
    """Return the branches that have drafts, up to a limit.

    Proposals come first, then awake drafts: pushing more branches does not displace them.

    Args:
        branches: branches, newest commit first.
        used: branches whose drafts are awake.
        limit: the number of drafts.
    """

    def rank(branch: str) -> tuple[bool, bool]:
        return not branch.startswith(PREVIEW), branch not in used

    return sorted(branches, key=rank)[:limit]


def slug_of(branch: str) -> str:
    """Return the name of a draft in URLs: small letters, digits and hyphens.

    Other characters are replaced and a mark is appended; a branch that ends like a mark gets one,
    too, since it could equal another branch's name. The name is unique for each branch.
    """
    words = re.sub(r"[^a-z0-9]+", "-", branch.lower()).strip("-")[:MAX_LETTERS].strip("-")
    if words == branch and not _MARKED(words):
        return words
    mark = hashlib.sha256(branch.encode(errors="surrogateescape")).hexdigest()[:_MARK_LETTERS]
    return f"{words or 'draft'}-{mark}"


def host_label(slug: str, project: str) -> str:
    """Return the label that replaces `*` in the host of a draft; `project` if there are several.

    A slug never has two hyphens in a row, so the label is unique for each draft.
    """
    label = f"{slug}--{project}" if project else slug
    if len(label) <= _MAX_LABEL:
        return label
    mark = hashlib.sha256(label.encode()).hexdigest()[:_MARK_LETTERS]
    return f"{label[: _MAX_LABEL - _MARK_LETTERS - 1].rstrip('-')}-{mark}"


def draft_name(project: str, slug: str) -> str:
    """Return the name of a draft in the server's processes, which no project can have."""
    return f"{project}/~drafts/{slug}"


def key_of(state: Path, name: str, branch: str) -> bytes:
    """Return the key of a draft, derived from the server's key for drafts.

    Raises:
        ServerError: the server's key cannot be read or created.
    """
    key = keep_key(state / "drafts.key", lambda: secrets.token_bytes(_KEY_BYTES))
    return derive_key(key, name, branch)


# ---- The addresses of a draft: below its project, or on its own host

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


def make_place(context: PublishContext, slug: str, branch: str, page_url: str) -> DraftPlace:
    """Return the address of a draft for data processes. Raises: ServerError: no key file."""
    settings = context.plane.settings
    url = settings.url_of(make_settings(context, slug, branch))
    return DraftPlace(
        branch, context.project.hosts, _prefix(context, slug),
        make_key(context, slug, branch).hex(), settings.control_url, page_url,
        url.startswith("https:"), min(USE_REPORT_SECONDS, settings.drafts.idle_seconds / 4),
        _own_host(context, slug), url,
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
