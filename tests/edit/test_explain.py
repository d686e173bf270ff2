"""docs/errors and `bbops explain`: an example is wrong where it says, or right."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner, Result

from bbops.base.diagnostics import Diagnostic
from bbops.build.check import validate
from bbops.edit.authoring.codes import Code, read_codes
from bbops.interfaces.cli._group import Commands
from bbops.source.tree import MemoryTree
from bbops_server.settings.server_file.load import load as load_server
from tests.conftest import FRAGMENTS, ROOT
from tests.docs.codes import FOLDER, Shown, index, read_examples
from tests.support.unsupported import CODE as NOT_SUPPORTED
from tests.support.unsupported import files_with_unsupported, others, told_of

CODES = read_codes()
WITHOUT = {
    "feature-off": "a server says it, of its workspace",
    "no-project": "a file that is not there; tests/golden/check/no-project",
    "too-many-files": "20,001 files; tests/pages/test_errors_page.py makes them",
    "not-a-file": "a link is no text; tests/pages/test_errors_page.py makes one",
    "frontend-too-large": "10,001 files; tests/publish/test_frontend.py makes them",
    "yaml-too-large": "a mebibyte; tests/pages/test_errors_page.py makes it",
    "yaml-too-deep": "65 levels; tests/golden/check/yaml-too-deep has them",
    "yaml-encoding": "bytes that no page of text can hold; tests/golden/check/yaml-encoding",
    "test-failed": "told by a server that runs the tests; tests/build/test_gate.py",
    "unreadable": "a server.yaml that is not there; tests/publish/test_server_file.py",
    "other-database": "depends on where a server keeps its data; tests/runtime/test_own_sql.py",
    "needs-restart": "told of a change, not of a file; tests/publish/test_server_file.py",
}
"""Codes that no example can show, and why."""
EXAMPLES = [
    pytest.param(name, shown, id=f"{name}: {shown.verdict}")
    for name, code in CODES.items()
    for shown in read_examples(code.examples)
]


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(Commands("bbops"), ["explain", *arguments])


# ---- examples
@pytest.mark.parametrize(("name", "shown"), EXAMPLES)
def test_an_example_is_wrong_where_it_says_or_right(name: str, shown: Shown) -> None:
    found = [one for one in findings(shown) if one.code == name or one.code not in FRAGMENTS]
    if name in FRAGMENTS:
        found = [one for one in found if one.place.file in shown.files]
    if "server.yaml" not in shown.files:
        assert {*told_of(found)} <= {*files_with_unsupported(shown.project)}
    if shown.verdict == "right":
        assert others(found) == []
        return
    told = [one for one in found if one.code == name]
    assert {one.code for one in found} - {NOT_SUPPORTED} == {name} - {NOT_SUPPORTED}, found
    places = {(str(one.place.file), one.place.line) for one in told}
    assert {place for place in places if place[0] in shown.files} == shown.marked


def findings(shown: Shown) -> tuple[Diagnostic, ...]:
    if "server.yaml" in shown.files:
        return load_server("server.yaml", shown.files["server.yaml"].encode(), {}).diagnostics
    return validate(MemoryTree(shown.project))[1]


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.name)
def test_a_code_has_a_wrong_example_and_a_right_one(code: Code) -> None:
    verdicts = [shown.verdict for shown in read_examples(code.examples)]
    assert verdicts == ([] if code.name in WITHOUT else ["wrong", "right"])


def test_only_codes_that_exist_are_without_examples() -> None:
    assert set(WITHOUT) <= set(CODES)


# ---- pages
def test_the_list_of_codes_is_that_of_the_pages() -> None:
    """If not: run `python -m tests.docs` in the root of the repository."""
    assert (ROOT / "docs/errors.md").read_text() == index()


def test_each_code_stands_on_one_page() -> None:
    headings = [
        name for path in FOLDER.iterdir()
        for name in re.findall(r"^## (.+)$", path.read_text(), re.MULTILINE)
    ]  # fmt: skip
    assert sorted(headings) == sorted(CODES)


# ---- bbops explain
def test_a_code_is_explained_with_wrong_and_right() -> None:
    result = explain("double-braces")
    assert result.exit_code == 0
    assert result.stdout == (
        "double-braces (Expressions)\n\n"
        "'{{ }}' is plain text; expressions are written '${ }'.\n\n"
        '    # wrong\n    - return: { value: "Hello {{ input.name }}" }   # <-\n\n'
        "    # right\n    - return: { value: \"Hello ${ input.name | default('you') }\" }\n"
    )


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.name)
def test_every_code_is_explained(code: Code) -> None:
    result = explain(f"[{code.name}]")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{code.name} (")
    assert "```" not in result.stdout


def test_without_a_code_all_are_listed_by_section() -> None:
    lines = explain().stdout.splitlines()
    assert lines[0] == "Expressions"
    assert {line.split()[0] for line in lines if line.startswith("  ")} == set(CODES)


def test_a_misspelt_code_names_the_nearest() -> None:
    result = explain("unknwon-table")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: there is no code 'unknwon-table'\n    hint: did you mean 'unknown-table'?\n"
    )
