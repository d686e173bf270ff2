"""The files and cases that `bbops.compiler.testing.pytest_plugin` collects, as items of pytest."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.compiler.compile.here import build_here
from bbops.compiler.testing.outcome import Outcome
from bbops.compiler.testing.report import describe
from bbops.compiler.testing.running import Chosen, Runner, choose

RUNNER = pytest.StashKey[Runner]()
"""What runs the cases, once there is one."""


class CaseFailed(Exception):
    """A case failed; carries its outcome."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(describe(outcome))


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
        outcome = asyncio.run(self.config.stash[RUNNER].run(self.chosen))
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
    known = config.stash.get(RUNNER, None)
    if known is None:
        url: str = config.getoption("bbops_database_url")
        built = build_here(root, database="postgres" if url else "sqlite")
        if built.project is None:
            raise pytest.Collector.CollectError("\n".join(map(str, built.diagnostics)))
        known = config.stash[RUNNER] = Runner(built, url).__enter__()
        config.add_cleanup(lambda: known.__exit__(None, None, None))
    return known
