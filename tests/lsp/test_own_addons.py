"""Editors know the steps of own addons: they complete, explain, find and rename them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbops.base.errors import BbopsError
from bbops.interfaces.lsp.completion import complete
from bbops.interfaces.lsp.definition import define, uses
from bbops.interfaces.lsp.hover import explain
from bbops.interfaces.lsp.project import EditorProject
from bbops.interfaces.lsp.rename import plan_rename
from bbops.interfaces.lsp.text import SourceLines

FUNCTION = "functions/notes/list.yaml"
TEXT = """
steps:
  - billing.createRefund: { charge: ch_1, amount: 5 }
    as: refund
  - billing.createRefund:
      am
  - return: { value: "${ vars.refund.id }" }
"""
GOOD = TEXT.replace("      am\n", "      amount: 7\n")
ADDON = "enabled: true\nserver: https://api.example.com\n"
STEP = """
title: Create a refund
request: { method: POST, path: /refunds }
parameters: { charge?: string, amount: integer }
gives: { id: string, amount: integer }
"""
TEST = """
function: notes/list
cases:
  - name: it runs
    mocks: { billing.createRefund: { id: a, amount: 1 } }
    expect: { calls: { billing.createRefund: [{ charge: ch_1 }, {}] } }
"""


@pytest.fixture
def root(project: Path) -> Path:
    """A project with an addon of its own."""
    for path, text in {
        "addons/billing.yaml": ADDON, "addons/billing/createRefund.yaml": STEP,
        FUNCTION: GOOD, "tests/notes/list.yaml": TEST,
    }.items():  # fmt: skip
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)
    return project


def at(
    root: Path, text: str, place: str, path: str = FUNCTION
) -> tuple[EditorProject, SourceLines, int]:
    """Return a folder with a text in a file, and the place of the cursor `¦` in it."""
    (root / path).write_text(text)
    folder = EditorProject.at(root)
    return folder, SourceLines(text), text.index(place.replace("¦", "")) + place.index("¦")


def labels(root: Path, text: str, place: str) -> list[str]:
    folder, lines, offset = at(root, text, place)
    return [one.label for one in complete(folder, FUNCTION, lines, offset)]


def test_the_parameters_of_a_step_are_offered(root: Path) -> None:
    assert labels(root, TEXT, "      am¦")[:2] == ["charge", "amount"]


def test_the_steps_are_offered(root: Path) -> None:
    text = GOOD.replace("  - return", "  - bil\n  - return")
    assert "billing.createRefund" in labels(root, text, "- bil¦\n")


def test_steps_of_an_addon_that_is_off_are_not_offered(root: Path) -> None:
    (root / "addons/billing.yaml").write_text(ADDON.replace("true", "false"))
    (root / "addons/payments.yaml").write_text("enabled: true\n")
    found = labels(root, GOOD.replace("  - return", "  - bil\n  - return"), "- bil¦\n")
    assert "billing.createRefund" not in found
    assert "payments.createRefund" in found
    assert "email.sendEmail" not in found


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("billing.create¦Refund: { charge", "amount: integer"),
        ("char¦ge: ch_1", "charge: text"),
        ("vars.refund.i¦d", "id: text"),
    ],
)
def test_what_stands_there_is_explained(root: Path, place: str, words: str) -> None:
    folder, lines, offset = at(root, GOOD, place)
    found = explain(folder, FUNCTION, lines, offset)
    assert found is not None
    assert words in found.contents.value  # type: ignore[union-attr]


def test_a_step_leads_to_its_file_and_its_uses(root: Path) -> None:
    folder, lines, offset = at(root, GOOD, "billing.create¦Refund: { charge")
    found = [one.path for one in define(folder, FUNCTION, lines, offset)]
    assert found == ["addons/billing/createRefund.yaml"]
    every = [one.path for one in uses(folder, FUNCTION, lines, offset)]
    assert every == [FUNCTION, FUNCTION, "tests/notes/list.yaml", "tests/notes/list.yaml"]


def test_a_step_is_renamed_with_its_uses(root: Path) -> None:
    folder, lines, offset = at(root, GOOD, "billing.create¦Refund: { charge")
    plan = plan_rename(folder, FUNCTION, lines, offset, "billing.giveBack")
    moved = [("addons/billing/createRefund.yaml", "addons/billing/giveBack.yaml")]
    assert plan.moves == moved
    assert {site.path for site, _ in plan.edits} == {FUNCTION, "tests/notes/list.yaml"}
    assert all("billing.giveBack" in text for _, text in plan.edits)


@pytest.mark.parametrize("name", ["Not A Name", "a/b"])
def test_a_name_that_is_none_is_refused(root: Path, name: str) -> None:
    folder, lines, offset = at(root, GOOD, "billing.create¦Refund: { charge")
    with pytest.raises(BbopsError, match=r"name|cannot"):
        plan_rename(folder, FUNCTION, lines, offset, name)
