"""Tell what went live, which snapshots there are, and how one resource came to be as it is."""

from __future__ import annotations

from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.project.recovery_history import Asking, Past, Version
from bbops.interfaces.mcp.refs import parse_ref
from bbops.source.git.command import failure, run
from bbops.source.git.file_history import read_past

SNAPSHOT = "snapshot/"
_MOST_COMMITS = 1_000
_MOST_SNAPSHOTS = 20
_FIELDS = "%(refname:strip=2)%1f%(*objectname)%1f%(taggerdate:iso-strict)%1f%(contents:subject)"


def do(bench: Bench, taken: Asking) -> Past:
    """Return a page, newest first."""
    begin = int(taken.cursor) if taken.cursor.isdecimal() else 0
    every = _of_resource(bench, taken.ref) if taken.ref else _of_project(bench)
    page = every[begin : begin + taken.limit]
    end = begin + len(page)
    return Past(
        versions=page, next_cursor=str(end) if end < len(every) else "",
        snapshots=[] if begin or taken.ref else snapshots(bench)[:_MOST_SNAPSHOTS],
    )  # fmt: skip


def _of_project(bench: Bench) -> list[Version]:
    return [
        Version(one.commit, one.at, one.facts.get("Author", ""), one.subject, one.name)
        for one in bench.versions
    ]


def _of_resource(bench: Bench, ref: str) -> list[Version]:
    path = bench.path(parse_ref(ref).file)
    steps = read_past(bench.store.place, path, _MOST_COMMITS, bench.versions, bench.head)
    return [Version(one.commit, one.at, one.author, one.subject, one.version) for one in steps]


def snapshots(bench: Bench) -> list[Version]:
    """Return the snapshots of the project, newest first."""
    arguments = ("for-each-ref", "--sort=-taggerdate", f"--format={_FIELDS}",
                 f"refs/tags/{bench.path(SNAPSHOT)}*")  # fmt: skip
    answer = run(bench.store.place, arguments)
    if answer.status or answer.ended:
        raise failure(answer, arguments)
    rows = (line.split("\x1f") for line in answer.output.decode(errors="replace").splitlines())
    return [Version(row[1], row[2], "", row[3], row[0]) for row in rows if len(row) == 4 and row[1]]
