"""Golden folders: two projects a user could have written, and what a review is told of the change.

A new case is a new folder under tests/plans; `pytest --update-golden` writes what is expected.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bbops.review.plan.codes import CODES
from bbops.review.plan.plan import encode
from bbops.review.plan.render.markdown import render_markdown
from tests.support.planning import CASES, read_case

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_plan_says_what_the_golden_folder_expects(
    case: Path, request: pytest.FixtureRequest
) -> None:
    document = read_case(case).document
    found = {
        "expected.json": json.dumps(encode(document), indent=1, ensure_ascii=False) + "\n",
        "expected.md": render_markdown(document),
    }
    for name, text in found.items():
        if request.config.getoption("--update-golden"):
            (case / name).write_text(text)
        assert text == (case / name).read_text()


@pytest.mark.parametrize("code", CODES)
def test_a_golden_folder_shows_the_code(code: str) -> None:
    plans = [json.loads((case / "expected.json").read_text())["plan"] for case in CASES]
    told = {
        one["code"] for plan in plans for one in (*plan["breaks"], *plan["access"], *plan["work"])
    }
    assert code in told
