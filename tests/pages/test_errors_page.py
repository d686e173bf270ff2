"""docs/errors explains the codes of diagnostics: each one that exists, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from bbops.base.diagnostics import Diagnostic
from bbops.edit.authoring.topics import read_codes
from bbops.language.loading.load import MAX_FILE_BYTES, MAX_FILES, MAX_PROJECT_BYTES, load
from bbops.runtime.values.filters import FILTERS
from bbops.source.tree import Entry, MemoryTree
from tests.conftest import ROOT
from tests.docs.codes import OTHERS

LISTED = set(read_codes()) - OTHERS
SOURCES = sorted(
    [
        *(ROOT / "bbops").rglob("*.py"),
        *(ROOT / "server/bbops_server/settings/server_file").rglob("*.py"),
        ROOT / "server/bbops_server/publish/build/warnings.py",
        ROOT / "server/bbops_server/publish/build/warnings.py",
    ]
)
SHOWN = {
    code
    for path in (ROOT / "tests/golden").glob("*/*/expected.txt")
    for code in re.findall(r" \[([a-z-]+)\]$", path.read_text(), re.MULTILINE)
}
TESTED_BELOW = {"too-many-files", "frontend-too-large", "not-a-file", "yaml-too-large"}
TESTED_ELSEWHERE = {
    "needs-restart", "unreadable", "test-failed", "feature-off", "other-database",
    "local-storage-not-shared", "addon-needs", "sql-one-database", "unformatted",
}  # fmt: skip
"""In tests/publish: test_server_file.py, test_gate.py, test_features.py, test_kept_files.py; in
tests/cli: test_validate_on_postgres.py; in tests/ci: test_ci_check.py."""
REPORTERS = {
    "Diagnostic", "Problem", "PydanticCustomError", "SyntaxProblem", "_encoding", "_report",
    "_unreadable", "problem", "report", "wrong",
}  # fmt: skip
NOT_REPORTED = {
    "number_type",
    "string_type",
    "field",
    "too_short",
}  # of pydantic; `bbops.language.loading.explain` renames them


def codes_in(tree: ast.AST) -> Iterator[str]:
    """Yield every constant that a reporter is given, and every `code` that is set."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in REPORTERS:
            yield from constants(*node.args)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in REPORTERS:
            yield from constants(*node.args, *(k.value for k in node.keywords if k.arg == "code"))
        elif isinstance(node, ast.Assign) and "code" in ast.unparse(node.targets[0]).split(", "):
            yield from constants(*getattr(node.value, "elts", ()))
        elif isinstance(node, ast.arguments):
            names = [argument.arg for argument in node.args][-len(node.defaults) or None :]
            yield from constants(
                *(v for name, v in zip(names, node.defaults, strict=False) if name == "code")
            )


def constants(*values: ast.expr) -> Iterator[str]:
    for value in values:
        text = value.value if isinstance(value, ast.Constant) else None
        if isinstance(text, str) and re.fullmatch(r"[a-z]+([-_][a-z]+)*", text):
            yield text.replace("_", "-") if text not in NOT_REPORTED else ""


def in_source() -> set[str]:
    found = {code for file in SOURCES for code in codes_in(ast.parse(file.read_text()))}
    # f"unknown-{kind}" of bbops.compiler.check.references
    kinds = ("function", "channel", "table", "endpoint", "realtime")
    return (found | {f"unknown-{kind}" for kind in kinds}) - {""}


@pytest.mark.long
def test_every_code_of_the_source_is_on_the_page() -> None:
    found = in_source()
    assert len(found) > 60
    assert found - LISTED == set()


def test_every_code_on_the_page_is_in_the_source() -> None:
    text = "".join(path.read_text() for path in SOURCES)
    spelt = {
        code for code in LISTED if f'"{code}"' in text or f'"{code.replace("-", "_")}"' in text
    }
    made = {
        f"unknown-{kind}"
        for kind in ("function", "channel", "endpoint", "realtime", "task", "trigger")
    }
    assert LISTED - spelt == made - spelt


@pytest.mark.parametrize("code", sorted(LISTED - TESTED_BELOW - TESTED_ELSEWHERE))
def test_a_golden_folder_shows_the_code(code: str) -> None:
    assert code in SHOWN


def only(diagnostics: tuple[Diagnostic, ...]) -> Diagnostic:
    (found,) = diagnostics
    return found


def test_a_project_has_at_most_so_many_files() -> None:
    files = {f"docs/{number}.md": "" for number in range(MAX_FILES + 1)}
    assert only(load(MemoryTree(files)).diagnostics).code == "too-many-files"


def test_a_file_has_at_most_one_mebibyte() -> None:
    large = "#" * (MAX_FILE_BYTES + 1)
    files = {"project.yaml": "bbops: 1\nname: sample\n", "functions/large.yaml": large}
    found = only(load(MemoryTree(files)).diagnostics)
    assert (found.code, found.place.file) == ("yaml-too-large", "functions/large.yaml")
    assert "1,048,577 bytes" in found.message


def test_all_resources_have_at_most_sixteen_mebibytes() -> None:
    text = f"{'#' * (MAX_FILE_BYTES - 1)}\n"
    files = {"project.yaml": "bbops: 1\nname: sample\n"}
    files |= {f"functions/f{at}.yaml": text for at in range(MAX_PROJECT_BYTES // MAX_FILE_BYTES)}
    assert {one.code for one in load(MemoryTree(files)).diagnostics} != {"yaml-too-large"}
    found = only(load(MemoryTree(files | {"tables/t.yaml": text})).diagnostics)
    assert (found.code, found.place.file) == ("yaml-too-large", "project.yaml")


def test_a_link_in_the_place_of_a_file_is_refused() -> None:
    class Linked(MemoryTree):
        def entries(self) -> list[Entry]:
            (entry,) = super().entries()
            return [entry, entry._replace(path="functions/run.yaml", kind="symlink")]  # type: ignore[arg-type]

    found = only(load(Linked({"project.yaml": "bbops: 1\nname: sample\n"})).diagnostics)
    assert (found.code, found.place.file) == ("not-a-file", "functions/run.yaml")


def test_the_explanation_of_an_unknown_filter_names_every_filter() -> None:
    told = read_codes()["unknown-filter"].examples.partition("`")[2].partition("`")[0]
    assert set(told.split()) == set(FILTERS)
