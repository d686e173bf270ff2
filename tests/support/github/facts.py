"""The facts that GitHub keeps about a repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

EVERYTHING = {
    "metadata": "read", "contents": "write", "pull_requests": "write", "checks": "write",
    "statuses": "write", "deployments": "write", "members": "read",
    "administration": "write", "repository_hooks": "write",
}  # fmt: skip
"""All rights that the server can use."""


@dataclass
class Rules:
    """The rules for merges into the default branch."""

    approvals: int = 0
    checks: Sequence[str] = ()
    needs_owners: bool = False
    dismisses_stale: bool = False
    has_queue: bool = False


@dataclass
class Repo:
    """A repository.

    Attributes:
        name: such as `acme/shop`.
        path: the bare repository.
        parent: the repository that it is a fork of; empty for none.
        rules: its rulesets.
        classic: the protection of its default branch; None without one.
        roles: the role of each collaborator.
    """

    id: int
    name: str
    path: Path
    parent: str = ""
    default: str = "main"
    is_private: bool = False
    is_organization: bool = True
    rules: Rules = field(default_factory=Rules)
    classic: Rules | None = None
    methods: Sequence[str] = ("merge", "squash", "rebase")
    roles: dict[str, str] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        return self.name.partition("/")[0]


@dataclass
class Pull:
    """A pull request; `brought` are the commits by which it was merged."""

    number: int
    title: str
    body: str
    author: str
    home: Repo | None
    branch: str
    target: str
    head: str
    base: str
    is_draft: bool = False
    state: str = "open"
    merged_by: str = ""
    merge_commit: str = ""
    brought: Sequence[str] = ()


@dataclass
class Review:
    """A review of a head."""

    id: int
    number: int
    who: str
    state: str
    commit: str


@dataclass
class Comment:
    """A comment of a pull request's conversation."""

    id: int
    number: int
    who: str
    body: str


@dataclass
class Status:
    """A commit status."""

    id: int
    commit: str
    context: str
    state: str
    who: str
    description: str = ""
    url: str = ""


@dataclass
class Run:
    """A check run with all annotations that it was given."""

    id: int
    commit: str
    name: str
    status: str = "in_progress"
    conclusion: str | None = None
    url: str = ""
    output: dict[str, Any] = field(default_factory=dict)
    annotations: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Deployed:
    """A deployment, and the states that it was given."""

    id: int
    commit: str
    environment: str
    is_transient: bool
    is_production: bool
    who: str
    states: list[dict[str, str]] = field(default_factory=list)

    @property
    def state(self) -> str:
        return self.states[-1]["state"] if self.states else "pending"


@dataclass
class Released:
    """A release of a tag."""

    id: int
    tag: str
    commit: str
    name: str
    body: str
    who: str


@dataclass
class Hook:
    """A webhook of the repository or of the App."""

    id: int
    url: str
    secret: str
    events: Sequence[str]


@dataclass(frozen=True)
class Grant:
    """The rights of a token.

    Attributes:
        scopes: of a classic token; None for others.
        expires_at: the end of an installation's token; None for others.
    """

    who: str
    rights: Mapping[str, str] = field(default_factory=lambda: dict(EVERYTHING))
    is_app: bool = False
    scopes: str | None = None
    expires_at: datetime | None = None

    def has(self, right: str) -> bool:
        """Return whether the token has a right such as `contents: write`."""
        permission, _, level = right.partition(": ")
        found = self.rights.get(permission, "")
        return found in {"write", level} or permission == "metadata"


@dataclass
class App:
    """A GitHub App; `public_key` is in PEM."""

    id: int
    slug: str
    public_key: str
    rights: dict[str, str] = field(default_factory=lambda: dict(EVERYTHING))
    is_installed: bool = True
