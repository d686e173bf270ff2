"""Two complete projects: what people write validates, whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbops.check import validate
from bbops.diagnostics import Diagnostic
from bbops.tree import FolderTree
from tests.conftest import ROOT

SAMPLES = sorted(path.parent for path in (ROOT / "tests/samples").glob("*/project.yaml"))
STEPS_TO_COME = {"unknown-step", "unknown-key", "columns"}
"""What is told of steps, and keys of steps, that this version has not yet."""


def errors(diagnostics: tuple[Diagnostic, ...]) -> list[str]:
    return [str(one) for one in diagnostics if one.code not in STEPS_TO_COME]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_sample_has_no_mistakes(sample: Path) -> None:
    _, diagnostics = validate(FolderTree(sample))
    assert errors(diagnostics) == []
    assert {one.place.file.partition("/")[0] for one in diagnostics} <= {"functions"}


def test_there_are_samples() -> None:
    assert [sample.name for sample in SAMPLES] == ["blog", "saas"]
