"""What a data process, or the process of a draft, needs to link a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

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
    """What a data process needs to link a release. Its text never shows the environment."""

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
    """The only ones that it may reach; None for all that the server may."""
    start: StartPageTexts | None = None
    """What its start page says; None where there is none, as of what is live for everybody."""
    files: FileStorage | None = field(default=None, repr=False)
    printer: str = ""

    def request(self) -> LinkRelease:
        """Return it as a request."""
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
        """Return the request that follows once every process has linked it."""
        return SwapRelease(self.project, self.name)
