"""Compare two commits of a project: the plan from one to the other, and their difference."""

from __future__ import annotations

from bbops.base.errors import ProjectError
from bbops.compiler.check import CheckedProject
from bbops.compiler.compile.release import check
from bbops.language.resources.project import Engine
from bbops.review.plan.document import describe, encode
from bbops.review.plan.plan import plan
from bbops.review.plan.render.text import render_text
from bbops.runtime.work.engine import now_ms
from bbops.source.git.comparing import read_patch
from bbops.source.tree import Tree
from bbops_server.process.messages.builds import CompareCommits, ComparedCommits
from bbops_server.publish.build.sources import OpenSources, SourceFields


def compare_commits(sources: OpenSources, request: CompareCommits) -> ComparedCommits:
    """Return the plan and the difference of two commits.

    Raises:
        GitError: a commit cannot be read, or too much differs.
        ProjectError: a commit has errors, for example as the language was stricter later.
    """
    before, now = _read(sources, request.base, request.engine)
    after, then = _read(sources, request.head, request.engine)
    document = describe(plan(now, then, now=now_ms()), before, after)
    store = sources.store(request.head["repository"])
    folder = request.head["path"]
    diff = read_patch(
        store.place, request.base["commit"], request.head["commit"], [folder] if folder else []
    )
    return ComparedCommits(encode(document), render_text(document), diff)


def _read(
    sources: OpenSources, source: SourceFields, engine: Engine
) -> tuple[Tree, CheckedProject]:  # fmt: skip
    tree, cache = sources.open(source)
    project, diagnostics = check(tree, cache, database=engine, off=(), base=tree)
    if project is None:
        raise ProjectError(diagnostics)
    return tree, project
