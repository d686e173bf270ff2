"""The webhook of a project's forge, as the settings name it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

ForgeKind = Literal["github", "gitea", "forgejo", "gitlab"]
FORGE_KINDS: Final[tuple[ForgeKind, ...]] = get_args(ForgeKind)


@dataclass(frozen=True, slots=True)
class ForgeHook:
    """The webhook of a project's forge; `secret_env` names the variable with its secret."""

    project: str
    kind: ForgeKind
    secret_env: str
