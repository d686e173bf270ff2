"""List published versions, or the commits of a resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from bbops.interfaces.mcp.models import Cursor, Limit, ShortRef
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.refs import parse_ref
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolParams, ToolResult

if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository

SNAPSHOT = "snapshot/"
_MAX_COMMITS = 1_000
_MAX_SNAPSHOTS = 20
_FIELDS = "%(refname:strip=2)%1f%(*objectname)%1f%(taggerdate:iso-strict)%1f%(contents:subject)"


class RecoveryHistoryParams(ToolParams, frozen=True):
    """The resource, or the whole project without one, and the page."""

    ref: ShortRef = ""
    cursor: Cursor = ""
    limit: Limit = 20


class HistoryEntry(msgspec.Struct, frozen=True):
    """A version, a snapshot or a commit; `tag` is empty if the commit was never live."""

    commit: str
    at: str
    author: str
    summary: str
    tag: str = ""


class RecoveryHistoryResult(ToolResult, frozen=True, kw_only=True):
    """A page of versions, newest first; the first page has the snapshots."""

    versions: list[HistoryEntry]
    snapshots: list[HistoryEntry] = []
    next_cursor: str = ""


async def run(backend: ProjectBackend, params: RecoveryHistoryParams) -> RecoveryHistoryResult:
    """Return the page, and suggest a rollback."""
    result = await backend.run_operation(HISTORY, params)
    tags = [version.tag for version in result.versions if version.tag]
    if len(tags) < 2:
        return result
    arguments: dict[str, Any] = {"to": tags[1], "reason": "Describe the reason"}
    if params.ref:
        arguments |= {"refs": [params.ref]}
    reason = "open a rollback as a pull request"
    return replace(result, next=[NextCall("recovery_rollback", arguments, reason)])


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
    from bbops.source.git.restoring import read_past  # noqa: PLC0415

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
    from bbops.source.git.command import failure, run  # noqa: PLC0415

    arguments = ("for-each-ref", "--sort=-taggerdate", f"--format={_FIELDS}",
                 f"refs/tags/{repository.path(SNAPSHOT)}*")  # fmt: skip
    answer = run(repository.store.place, arguments)
    if answer.status or answer.ended:
        raise failure(answer, arguments)
    rows = (line.split("\x1f") for line in answer.output.decode(errors="replace").splitlines())
    return [
        HistoryEntry(row[1], row[2], "", row[3], row[0]) for row in rows if len(row) == 4 and row[1]
    ]


HISTORY = RepositoryOperation("recovery_history", RecoveryHistoryParams, RecoveryHistoryResult, do)

TOOL = McpTool(
    "recovery_history", "Version history",
    "Published versions and snapshots, newest first; with ref, the commits of one resource.",
    RecoveryHistoryParams, RecoveryHistoryResult, run,
)  # fmt: skip
