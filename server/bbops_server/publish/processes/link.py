"""The parameters for linking a release, and the key of the Playground's requests."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bbops.database.schema.place import Place as Data
from bbops.database.schema.place import write_place
from bbops_server.process.messages.projects import (
    FileStorage,
    LinkRelease,
    StartPageTexts,
    SwapRelease,
)
from bbops_server.settings import Durability


@dataclass(frozen=True, slots=True)
class Link:
    """Parameters for linking a release. Its representation never shows env values."""

    artifact: Path
    name: str
    project: str
    database: Data
    history: Path
    durability: Durability
    detailed: bool
    env: Mapping[str, str | None] = field(repr=False)
    frontend: Path | None = None
    url: str = ""
    hosts: tuple[str, ...] | None = None
    """The hosts that the release may reach; None for every host that the server allows."""
    start: StartPageTexts | None = None
    """The texts of its start page; None without one, such as for a live release."""
    files: FileStorage | None = field(default=None, repr=False)
    printer: str = ""

    def request(self) -> LinkRelease:
        """Return the request that links the release."""
        return LinkRelease(
            project=self.project,
            artifact=str(self.artifact),
            name=self.name,
            database=write_place(self.database),
            history=str(self.history),
            durability=self.durability,
            detailed=self.detailed,
            env=dict(self.env),
            frontend=str(self.frontend or ""),
            url=self.url,
            hosts=self.hosts,
            start=self.start,
            files=self.files,
            printer=self.printer,
        )

    def swap(self) -> SwapRelease:
        """Return the request that makes the release live, once every process has linked it."""
        return SwapRelease(self.project, self.name)


# ---- the key that signs requests of the Playground
# Only this server and its data processes know it. Each start makes another; no file holds it.

_BYTES: Final = 32

PLAYGROUND_KEY: Final = secrets.token_bytes(_BYTES)
