"""The key `forge` of a project in `server.yaml`: the hosted forge of its repository."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import StringConstraints

from bbops.base.model import Model
from bbops_server.settings.forge_hook import ForgeHook, ForgeKind


class WrittenForge(Model):
    """A forge; the secret of its webhook is a variable of the environment, or a stored value."""

    kind: ForgeKind
    webhook_secret_env: Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]*$")]


def read_hook(project: str, forge: WrittenForge | None) -> Iterator[ForgeHook]:
    """Yield the webhook of a project's forge, if it has one."""
    if forge is not None:
        yield ForgeHook(project, forge.kind, forge.webhook_secret_env)
