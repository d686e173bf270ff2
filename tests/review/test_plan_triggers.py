"""Plans report SQL triggers that the live database does not allow."""

from __future__ import annotations

import json

from bbops.review.plan.live import complete, read_answer
from bbops.review.plan.plan import describe, plan
from bbops.review.plan.render.markdown import render_markdown
from bbops.review.plan.render.text import render_text
from bbops.source.tree import MemoryTree
from tests.support.planning import FOLDER, project, read_case

GRANT = 'GRANT TRIGGER ON TABLE "bbops"."orders" TO "shop"'


def test_a_refused_trigger_names_the_work_the_table_and_the_grant() -> None:
    sides = read_case(FOLDER / "trigger-cost")
    base, head = MemoryTree(sides.base, "base"), MemoryTree(sides.head, "head")
    offline = plan(project(sides.base), project(sides.head))
    said = {"hash": None, "waits": False, "changes": [], "triggers": {"orders": GRANT, "x": GRANT}}
    answer = read_answer(json.dumps(said).encode())
    found = complete(offline, answer)
    assert [one.code for one in offline.work] == ["trigger-cost"]
    cost, refused = found.work
    assert (cost.code, refused.code) == ("trigger-cost", "trigger-refused")
    assert (refused.work, refused.table) == ("triggers/sent", "orders")
    assert refused.cure == f"as the owner of the table: {GRANT}"
    assert found.verdict.refused == (f"{refused.message}; {refused.cure}",)
    document = describe(found, base, head)
    for text in (render_text(document), render_markdown(document)):
        assert "trigger-refused" in text
        assert "GRANT TRIGGER ON TABLE" in text
    without = complete(offline, read_answer(json.dumps(said | {"triggers": {}}).encode()))
    assert document.digest == describe(without, base, head).digest  # a grant is no other change
