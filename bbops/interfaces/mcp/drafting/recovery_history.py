"""List published versions, snapshots, and the commits of a resource."""

from __future__ import annotations

from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.project.recovery_history import (
    HistoryEntry,
    RecoveryHistoryParams,
    RecoveryHistoryResult,
)
from bbops.interfaces.mcp.refs import parse_ref
from bbops.source.git.command import failure, run
from bbops.source.git.file_history import read_past

SNAPSHOT = "snapshot/"
_MAX_COMMITS = 1_000
_MAX_SNAPSHOTS = 20
_FIELDS = "%(refname:strip=2)%1f%(*objectname)%1f%(taggerdate:iso-strict)%1f%(contents:subject)"


def do(repository: ProjectRepository, params: RecoveryHistoryParams) -> RecoveryHistoryResult:
    """Return a page, newest first."""
    start = int(params.cursor) if params.cursor.isdecimal() else 0
    entries = _of_resource(repository, params.ref) if params.ref else _of_project(repository)
    page = entries[start : start + params.limit]
    end = start + len(page)
    return RecoveryHistoryResult(
        versions=page, next_cursor=str(end) if end < len(entries) else "",
        snapshots=[] if start or params.ref else snapshots(repository)[:_MAX_SNAPSHOTS],
    )  # fmt: skip


def _of_project(repository: ProjectRepository) -> list[HistoryEntry]:
    return [
        HistoryEntry(
            version.commit,
            version.at,
            version.facts.get("Author", ""),
            version.subject,
            version.name,
        )
        for version in repository.versions
    ]


def _of_resource(repository: ProjectRepository, ref: str) -> list[HistoryEntry]:
    path = repository.path(parse_ref(ref).file)
    commits = read_past(
        repository.store.place, path, _MAX_COMMITS, repository.versions, repository.head
    )
    return [
        HistoryEntry(item.commit, item.at, item.author, item.subject, item.version)
        for item in commits
    ]


def snapshots(repository: ProjectRepository) -> list[HistoryEntry]:
    """Return the snapshots of the project, newest first."""
    arguments = ("for-each-ref", "--sort=-taggerdate", f"--format={_FIELDS}",
                 f"refs/tags/{repository.path(SNAPSHOT)}*")  # fmt: skip
    answer = run(repository.store.place, arguments)
    if answer.status or answer.ended:
        raise failure(answer, arguments)
    rows = (line.split("\x1f") for line in answer.output.decode(errors="replace").splitlines())
    return [
        HistoryEntry(row[1], row[2], "", row[3], row[0]) for row in rows if len(row) == 4 and row[1]
    ]
