"""The house rules that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

MODULES = sorted([*(ROOT / "bbops").rglob("*.py"), *(ROOT / "server").rglob("*.py")])
TESTS = sorted((ROOT / "tests").rglob("*.py"))

FILE_DOORS = {
    "bbops/base/assets.py", "bbops/base/registry.py", "bbops/edit/authoring/folder.py",
    "bbops/interfaces/ci/files.py", "bbops/interfaces/cli/_root_group.py",
    "bbops/interfaces/cli/_server.py", "bbops/interfaces/cli/completion.py",
    "bbops/interfaces/cli/frontend.py",
    "bbops/interfaces/cli/_check_cache.py", "bbops/interfaces/cli/init.py",
    "bbops/database/sqlite/connection.py",
    "bbops/database/files/files.py", "bbops/database/sqlite/gate.py",
    "bbops/database/files/restore.py",
    "bbops/database/sqlite/writer.py", "bbops/base/disk.py", "bbops/source/git/mirror.py",
    "bbops/source/git/place.py", "bbops/source/git/signatures.py",
    "bbops/source/git/store.py", "bbops/source/git/writing.py",
    "bbops/interfaces/mcp/installing/files.py",
    "bbops/compiler/testing/report.py",
    "bbops/compiler/testing/databases.py", "bbops/source/tree.py",
    "server/bbops_server/publish/holds/held.py",
    "server/bbops_server/publish/pull_requests/fork_heads.py",
    "server/bbops_server/publish/pull_requests/reading.py",
    "server/bbops_server/publish/build/compiling.py",
    "server/bbops_server/publish/build/frontend.py",
    "server/bbops_server/publish/build/warnings.py",
    "server/bbops_server/publish/build/tagged_frontend.py",
    "server/bbops_server/control_plane/projects/frontends.py",
    "server/bbops_server/data_plane/live/artifact.py", "server/bbops_server/process/host/system.py",
    "server/bbops_server/data_plane/pages/frontend.py",
    "server/bbops_server/data_plane/live/swap.py",
    "server/bbops_server/data_plane/work" + "/pins.py",
    "server/bbops_server/commands/_book.py", "server/bbops_server/commands/_env_values.py",
    "server/bbops_server/commands/_settings.py",
    "server/bbops_server/commands/_projects.py", "server/bbops_server/commands/db.py",
    "server/bbops_server/commands/_run.py", "server/bbops_server/commands/_story.py",
    "server/bbops_server/control_plane/sign_in/local.py",
    "server/bbops_server/control_plane/projects/reference.py",
    "server/bbops_server/control_plane/web/islands.py",
    "server/bbops_server/git_http/hooks.py",
    "server/bbops_server/process/forks/keeper.py", "server/bbops_server/process/forks/limits.py",
    "server/bbops_server/data_plane/drafts/usage.py",
    "server/bbops_server/process/handover/place.py",
    "server/bbops_server/data_plane/live/recent_frontends.py",
    "server/bbops_server/process/host/files.py",
    "server/bbops_server/publish/holds/approvals.py",
    "server/bbops_server/process/host/run_folders.py",
    "server/bbops_server/process/host/secrets.py",
    "server/bbops_server/process/printing/chromium.py",
    "server/bbops_server/process/storage/archive.py",
    "server/bbops_server/process/storage/confined.py",
    "server/bbops_server/process/storage/disk.py",
    "server/bbops_server/process/storage/usage.py",
    "server/bbops_server/publish/drafts/draft_hosts.py",
    "server/bbops_server/publish/forge_reviews/forge_review.py",
    "server/bbops_server/publish/status/publications.py",
    "server/bbops_server/publish/sources/record.py",
    "server/bbops_server/publish/stages/failed_migration.py",
    "server/bbops_server/publish/holds/freezing.py",
    "server/bbops_server/process/webhooks/queue.py",
    "server/bbops_server/settings/server_file/load.py",
}  # fmt: skip
"""Files that may touch the disk."""

TOUCHES = {
    "open", "read_text", "read_bytes", "write_text", "write_bytes", "unlink", "mkdir", "rmdir",
    "rename", "replace_file", "touch",
}  # fmt: skip


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.long
def test_each_floor_imports_only_the_floors_below_it() -> None:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_a_module_opens_with_a_sentence_that_says_what_it_is_for() -> None:
    assert [name(path) for path in (*MODULES, *TESTS) if not is_described(path)] == []


def is_described(path: Path) -> bool:
    text = ast.get_docstring(parsed(path)) or ""
    is_empty = path.name == "__init__.py" and not path.read_text().strip()
    return is_empty or text.partition("\n")[0].rstrip()[-1:] in {".", "?", ":"}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def test_public_names_say_what_their_signature_cannot() -> None:
    found = {name(path): list(undocumented(parsed(path))) for path in MODULES}
    assert {path: names for path, names in found.items() if names} == {}


def undocumented(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name.startswith("_") or is_overload(node):
                continue
            if ast.get_docstring(node) is None:
                yield node.name


def is_overload(node: ast.AST) -> bool:
    return any("overload" in ast.dump(one) for one in getattr(node, "decorator_list", ()))


@pytest.mark.long
def test_only_the_doors_touch_the_disk() -> None:
    found = {one: touched(path) for path in MODULES if (one := name(path)) not in FILE_DOORS}
    assert {path: calls for path, calls in found.items() if calls} == {}


def touched(path: Path) -> set[str]:
    calls = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
    found = {called(node) for node in calls} & TOUCHES
    if found == {"open"}:  # a door's own `open`, such as `Sqlite.open`
        found = {node.func.id for node in calls if isinstance(node.func, ast.Name)} & {"open"}
    return found


def called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def test_nothing_of_the_repository_names_the_place_it_was_made_in() -> None:
    absolute = re.compile(r"(?<![\w.-])/" + "work/")  # not a folder inside of the repository
    assert [
        path for path in kept_files() if absolute.search(path.read_text(errors="replace"))
    ] == []


def test_no_merge_was_left_half_done() -> None:
    mark = re.compile("^(<{7}|>{7}) ", re.MULTILINE)
    assert [path for path in kept_files() if mark.search(path.read_text(errors="replace"))] == []


@cache
def kept_files() -> list[Path]:
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [ROOT / path for path in files if (ROOT / path).is_file()]


def test_the_range_of_uvicorn_is_its_tested_minor_version() -> None:
    """`process/sockets` uses private names of uvicorn, which may change with each minor version."""
    tested = re.search(
        r"^uvicorn==(\d+\.\d+)\.", (ROOT / "constraints.txt").read_text(), re.MULTILINE
    )
    assert tested is not None
    assert f'"uvicorn[standard]=={tested[1]}.*"' in (ROOT / "pyproject.toml").read_text()


def test_versions_are_pinned_by_name_only() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()[1:]
    assert all(line.count("==") == 1 and "/" not in line and " " not in line for line in lines)
