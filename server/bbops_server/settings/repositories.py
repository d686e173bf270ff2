"""Settings of a project's repository: its forge, and trusted workflows."""

from __future__ import annotations

import hashlib
import re
from dataclasses import astuple, dataclass
from typing import Final, Literal, get_args

IssuerKind = Literal["github", "gitlab"]
ISSUER_KINDS: Final[tuple[IssuerKind, ...]] = get_args(IssuerKind)


@dataclass(frozen=True, slots=True)
class CiTrust:
    """The workflows whose identity tokens the server exchanges for tokens of a project.

    Attributes:
        kind: the names of the issuer's claims; Forgejo and GitHub share theirs.
        repository_id: the number of the repository, which survives a rename; so does `owner_id`.
        ref: a full ref, in which a segment `*` stands for any one segment.
        environment: the deployment environment of the job; empty for any.
        workflow: a path in the repository, or `owner/name/path@ref`; empty for any.
    """

    project: str
    kind: IssuerKind
    issuer: str
    repository_id: str
    owner_id: str
    ref: str
    environment: str = ""
    workflow: str = ""

    @property
    def digest(self) -> str:
        """A hash of all attributes: a token is valid as long as its trust is unchanged."""
        return hashlib.sha256("\0".join(astuple(self)).encode()).hexdigest()

    def covers(self, ref: str) -> bool:
        """Return whether the pattern matches a full ref."""
        parts = ("[^/]+" if part == "*" else re.escape(part) for part in self.ref.split("/"))
        return ".." not in ref and re.fullmatch("/".join(parts), ref) is not None


# ---- The forge of a project's repository, as the settings name it

ForgeKind = Literal["github", "gitea", "forgejo", "gitlab"]
FORGE_KINDS: Final[tuple[ForgeKind, ...]] = get_args(ForgeKind)


@dataclass(frozen=True, slots=True)
class ForgeApp:
    """A GitHub App; `key_env` names the variable with its private key in PEM."""

    id: int
    key_env: str


@dataclass(frozen=True, slots=True)
class ForgeBinding:
    """The forge of a project's repository. Secrets are named by their variables.

    Attributes:
        url: the address of the forge, without a final slash.
        repository: its path there, such as `acme/shop`.
        secret_env: the variable of the webhook's secret; empty without a webhook.
        token_env: the variable of an access token; empty without one.
        app: the App in place of a token; None without one.
    """

    project: str
    kind: ForgeKind
    url: str
    repository: str
    secret_env: str = ""
    token_env: str = ""
    app: ForgeApp | None = None

    @property
    def has_api(self) -> bool:
        """Whether the server has a credential for the forge's API."""
        return bool(self.token_env) or self.app is not None
