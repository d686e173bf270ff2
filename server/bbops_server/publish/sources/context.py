"""The context of a publication's stages, and the numbers of jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bbops.base.errors import BbopsError
from bbops.database.schema.place import Place, write_place
from bbops.source.git.series import TAG, Series
from bbops_server.forges.hosted import HostedForge
from bbops_server.process.children import SupervisedChild
from bbops_server.process.host.secrets import Secrets
from bbops_server.process.messages.jobs import CountJobs
from bbops_server.publish.processes.draft_build import DraftBuild
from bbops_server.publish.processes.plane import Plane
from bbops_server.publish.sources.sources import RevisionSource
from bbops_server.settings import ProjectSettings


@dataclass(frozen=True, slots=True)
class PublishContext:
    """One project, and the objects that it shares with other projects."""

    project: ProjectSettings
    source: RevisionSource
    plane: Plane
    secrets: Secrets
    draft_of: ProjectSettings | None = None
    """The project of a draft; None for a live project."""

    hosts: Callable[[str], tuple[str, ...]] | None = None
    """Returns the hosts that a draft may reach at a commit; None for a live project: all hosts."""

    forge: HostedForge | None = None
    """The forge of the repository; None without a credential for it."""

    @property
    def is_draft(self) -> bool:
        """Whether it is a draft."""
        return self.draft_of is not None

    @property
    def url(self) -> str:
        """The URL of the project."""
        return self.plane.settings.url_of(self.project)

    @property
    def mode(self) -> str:
        """`serve` or `dev`."""
        return self.plane.settings.mode

    @property
    def exposes_errors(self) -> bool:
        """Whether responses include errors of the project: its callers are its authors."""
        return self.is_draft or self.mode == "dev"

    @property
    def build(self) -> SupervisedChild | DraftBuild:
        """The process that builds it and changes its tables; drafts have their own."""
        return self.plane.awake.build if self.is_draft else self.plane.build

    @property
    def artifacts(self) -> Path:
        """The folder of artifacts, named by content."""
        return self.project.state / "artifacts"

    @property
    def database(self) -> Place:
        """The project's database."""
        return self.project.database

    @property
    def engine(self) -> Literal["sqlite", "postgres"]:
        """The kind of the database."""
        return "sqlite" if isinstance(self.database, Path) else "postgres"

    @property
    def request_fields(self) -> dict[str, str]:
        """The database and the state folder, as fields of requests to the build process."""
        return {"database": write_place(self.database), "state": str(self.project.state)}

    def series(self, name: str) -> Series:
        """Return the version tags of the project; `name` is its own name."""
        tag, project = self.plane.settings.version_tag or TAG, self.project
        return Series(project.name or name, project.branch, project.path, tag)

    @property
    def history(self) -> Path:
        """The history of requests, written by the data processes."""
        return self.project.history

    @property
    def record(self) -> Path:
        """The file with the record of the last live release."""
        return self.project.state / "publication.json"

    @property
    def intention(self) -> Path:
        """The file with the release that goes live with a running migration; used after a crash."""
        return self.project.state / "publication-next.json"

    @property
    def accepted(self) -> Path:
        """The file with the accepted rewritten history."""
        return self.project.state / "accepted.json"


async def count_jobs(at: PublishContext) -> Mapping[str, tuple[int, int]] | None:
    """Return the numbers of started and waiting jobs; None if nothing is live."""
    try:
        answer = await at.plane.ask_project(at.project.name, CountJobs(at.project.name))
    except BbopsError:
        return None
    return answer.counts
