"""Let pytest collect the tests of the project it was started in: tests/**.yaml."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.compile.release import build
from bbops.testing.outcome import Outcome
from bbops.testing.report import describe
from bbops.testing.running import Chosen, Runner, choose
from bbops.tree import FolderTree

_RUNNER = pytest.StashKey[Runner]()


class CaseFailed(Exception):
    """A case failed; carries its outcome."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(describe(outcome))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> TestFile | None:
    """Take a test of the project in pytest's root folder, or above it; no other project's."""
    root = next(
        (one for one in (parent.config.rootpath, *parent.config.rootpath.parents)
         if (one / "project.yaml").is_file()), None,
    )  # fmt: skip
    if root is None or file_path.suffix != ".yaml" or not file_path.is_relative_to(root / "tests"):
        return None
    found: TestFile = TestFile.from_parent(parent, path=file_path)
    found.root = root
    return found


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the databases."""
    runner = config.stash.get(_RUNNER, None)
    if runner is not None:
        runner.__exit__(None, None, None)


class TestFile(pytest.File):
    """One file of cases."""

    __test__ = False
    root: Path

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the cases of the file; the project is built with its first one."""
        runner = _runner(self.config, self.root)
        name = self.path.relative_to(self.root / "tests").with_suffix("").as_posix()
        for chosen in choose(runner.project):
            if chosen.test.name == name:
                yield TestCase.from_parent(self, name=chosen.case.name, chosen=chosen)


class TestCase(pytest.Item):
    """One case."""

    __test__ = False

    def __init__(self, *, chosen: Chosen, **more: Any) -> None:
        super().__init__(**more)
        self.chosen = chosen

    def runtest(self) -> None:
        """Run the case.

        Raises:
            CaseFailed: something is not as expected.
        """
        outcome = asyncio.run(self.config.stash[_RUNNER].run(self.chosen))
        if outcome.wrong:
            raise CaseFailed(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what `bbops test` would print."""
        if isinstance(excinfo.value, CaseFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the case stands."""
        place = self.chosen.test.place("cases", self.chosen.at)
        return self.path, place.line - 1, self.chosen.name


def _runner(config: pytest.Config, root: Path) -> Runner:
    known = config.stash.get(_RUNNER, None)
    if known is None:
        built = build(FolderTree(root))
        if built.project is None:
            raise pytest.Collector.CollectError("\n".join(map(str, built.diagnostics)))
        known = config.stash[_RUNNER] = Runner(built).__enter__()
    return known
