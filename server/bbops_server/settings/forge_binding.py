"""The forge of a project's repository, as the settings name it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

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
