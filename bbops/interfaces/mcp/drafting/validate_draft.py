"""Check a draft as far as it is wanted; tests are run elsewhere."""

from __future__ import annotations

from bbops.base.diagnostics import has_errors
from bbops.build.compile.release import build
from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.drafting.fixing import Fixes
from bbops.interfaces.mcp.drafting.serialization import tell
from bbops.interfaces.mcp.project.validate_draft import Checked, Checking
from bbops.language.loading.load import load


def do(bench: Bench, taken: Checking) -> Checked:
    """Return what is found."""
    commit = bench.find(taken.draft)
    tree = bench.tree(commit)
    if taken.level == "schema":
        found = load(tree, bench.cache.checked.files).diagnostics
    else:
        found = build(
            tree, bench.cache, database=bench.engine, off=bench.off, base=bench.accepted
        ).diagnostics
    told, more = tell(found, Fixes(tree).find)
    return Checked(commit=commit, ok=not has_errors(found), diagnostics=told, more=more)
