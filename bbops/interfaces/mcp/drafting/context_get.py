"""Say where a project stands in its repository."""

from __future__ import annotations

from collections import Counter

from bbops.base.diagnostics import has_errors
from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.drafting.files import Files
from bbops.interfaces.mcp.project.context_get import Branch, Nothing, Overview, Rules
from bbops.language.project import Project
from bbops.review.plan.review import read_rules
from bbops.source.git.command import run

MOST_DRAFTS = 20


def do(bench: Bench, taken: Nothing) -> Overview:
    """Return it."""
    del taken
    head = bench.head
    tree = bench.tree(head)
    project, found = bench.check(tree)
    counts = Counter(ref.kind for ref in Files(tree).entries)
    errors = sum(one.severity == "error" for one in found) if has_errors(found) else 0
    settings = project.settings.model if project else None
    return Overview(
        project=settings.name if settings else "", live_branch=bench.live, head=head,
        description=(settings.description or "")[:500] if settings else "",
        counts=dict(sorted(counts.items())), errors=errors, drafts=_drafts(bench, head),
        rules=_rules(project) if project else None,
    )  # fmt: skip


def _drafts(bench: Bench, head: str) -> list[Branch]:
    newest = [*bench.drafts().items()][:MOST_DRAFTS]
    return [Branch(name, commit, _ahead(bench, head, commit)) for name, commit in newest]


def _ahead(bench: Bench, head: str, commit: str) -> int:
    answer = run(bench.store.place, ("rev-list", "--count", f"{head}..{commit}"))
    count = answer.output.decode(errors="replace").strip()
    return int(count) if answer.status == 0 and count.isdecimal() else 0


def _rules(project: Project) -> Rules:
    rules = read_rules(project)
    return Rules(rules.main, rules.approvals, rules.destructive, rules.most)
