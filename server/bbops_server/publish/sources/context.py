"""What the stages of a publication work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bbops.database.schema.place import Place, write_place
from bbops.source.git.series import TAG, Series
from bbops_server.process.children import SupervisedChild
from bbops_server.process.host.secrets import Secrets
from bbops_server.publish.processes.draft_build import DraftBuild
from bbops_server.publish.processes.plane import Plane
from bbops_server.publish.sources.sources import Source
from bbops_server.settings import ProjectSettings


@dataclass(frozen=True, slots=True)
class PublishContext:
    """What the stages work with: one project, and what it shares with the others."""

    project: ProjectSettings
    source: Source
    plane: Plane
    secrets: Secrets
    draft_of: ProjectSettings | None = None
    """The project that a draft is of; None of what is live itself."""

    hosts: Callable[[str], tuple[str, ...]] | None = None
    """The hosts that a draft may reach at a commit; None of what is live, which may reach all."""

    @property
    def is_draft(self) -> bool:
        """Whether it is a branch that is previewed."""
        return self.draft_of is not None

    @property
    def url(self) -> str:
        """Where the project is reached."""
        return self.plane.settings.url_of(self.project)

    @property
    def mode(self) -> str:
        """`serve` or `dev`."""
        return self.plane.settings.mode

    @property
    def tells_callers(self) -> bool:
        """Whether whoever asks the project is told of its mistakes: they are those who write it."""
        return self.is_draft or self.mode == "dev"

    @property
    def build(self) -> SupervisedChild | DraftBuild:
        """Where it is built and its tables are changed; of drafts a process of their own."""
        return self.plane.awake.build if self.is_draft else self.plane.build

    @property
    def artifacts(self) -> Path:
        """Where artifacts lie, by content."""
        return self.project.state / "artifacts"

    @property
    def database(self) -> Place:
        """The project's data."""
        return self.project.database

    @property
    def engine(self) -> Literal["sqlite", "postgres"]:
        """What kind of database that is."""
        return "sqlite" if isinstance(self.database, Path) else "postgres"

    @property
    def asked_of(self) -> dict[str, str]:
        """Where a request to the build process finds the data, and what is beside it."""
        return {"database": write_place(self.database), "state": str(self.project.state)}

    def series(self, name: str) -> Series:
        """Return which versions are those of the project, which calls itself so."""
        tag, project = self.plane.settings.version_tag or TAG, self.project
        return Series(project.name or name, project.branch, project.path, tag)

    @property
    def history(self) -> Path:
        """The requests that were answered; the data processes write it."""
        return self.project.history

    @property
    def record(self) -> Path:
        """What went live last."""
        return self.project.state / "publication.json"

    @property
    def intention(self) -> Path:
        """What goes live with a change of names and types, should the server end in between."""
        return self.project.state / "publication-next.json"

    @property
    def accepted(self) -> Path:
        """Which rewritten history somebody has accepted."""
        return self.project.state / "accepted.json"
