"""docs/errors and `bbops explain`: an example is wrong where it says, or right."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check import validate
from bbops.edit.authoring.topics import Code, Topic, read_codes, read_topics
from bbops.interfaces.cli._root_group import RootGroup
from bbops.interfaces.lsp.schema import fields
from bbops.language.addons._base import kinds as addon_kinds
from bbops.language.expressions.related import RELATED_WORDS, WINDOWS
from bbops.language.loading.load import kinds
from bbops.language.reference import read_reference
from bbops.language.resources._crud import Crud
from bbops.language.steps._aggregate import FUNCTIONS_OF
from bbops.language.steps._base import step_kinds
from bbops.review.plan.codes import CODES as PLAN_CODES
from bbops.runtime.values.filters import FILTERS, FUNCTIONS
from bbops.source.tree import MemoryTree
from bbops_server.settings.server_file.load import load as load_server
from tests.conftest import FRAGMENTS, ROOT
from tests.docs.codes import FOLDER, OTHERS, Shown, index, read_examples
from tests.support.unsupported import CODE as NOT_SUPPORTED
from tests.support.unsupported import files_with_unsupported, others, told_of

LISTED = read_codes()
CODES = {name: code for name, code in LISTED.items() if name not in OTHERS}
WITHOUT = {
    "sql-one-database": "a server says it; tests/cli/test_validate_on_postgres.py",
    "feature-off": "a server says it, of its workspace",
    "no-project": "a file that is not there; tests/golden/check/no-project",
    "too-many-files": "20,001 files; tests/pages/test_errors_page.py makes them",
    "not-a-file": "a link is no text; tests/pages/test_errors_page.py makes one",
    "lfs-pointer": "a file of a frontend; tests/golden/check/lfs-pointer",
    "signers-missing": "files that do not exist; tests/golden/check/review-signers",
    "frontend-too-large": "10,001 files; tests/publish/test_frontend.py makes them",
    "yaml-too-large": "a mebibyte; tests/pages/test_errors_page.py makes it",
    "yaml-too-deep": "65 levels; tests/golden/check/yaml-too-deep has them",
    "yaml-encoding": "bytes that no page of text can hold; tests/golden/check/yaml-encoding",
    "test-failed": "told by a server that runs the tests; tests/compiler/test_gate.py",
    "unformatted": "reported by 'bbops ci check'; tests/ci/test_ci_check.py",
    "unreadable": "a server.yaml that is not there; tests/publish/test_server_file.py",
    "other-database": "depends on where a server keeps its data; tests/runtime/test_own_sql.py",
    "addon-needs": "depends on the server; tests/publish/test_kept_files.py",
    "local-storage-not-shared": "depends on the server; tests/publish/test_kept_files.py",
    "needs-restart": "told of a change, not of a file; tests/publish/test_server_file.py",
}
"""Codes that no example can show, and why."""
JOB_CODES = (
    (ROOT / "docs/work.md").read_text().partition("| code | meaning |")[2].partition("\n\n")[0]
)
SERVER_CODES = (ROOT / "docs/language.md").read_text().partition("## Errors from the server")[2]
SERVER = ROOT / "server/bbops_server"
EXAMPLES = [
    pytest.param(name, shown, id=f"{name}: {shown.verdict}")
    for name, code in CODES.items()
    for shown in read_examples(code.examples)
]


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), ["explain", *arguments])


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
    assert sorted(headings) == sorted(LISTED)


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


@pytest.mark.parametrize("code", LISTED.values(), ids=lambda code: code.name)
def test_every_code_is_explained(code: Code) -> None:
    result = explain(f"[{code.name}]")
    assert result.exit_code == 0
    assert f"{code.name} (" in result.stdout
    assert "```" not in result.stdout


@pytest.mark.parametrize("name", PLAN_CODES)
def test_every_code_of_a_plan_is_explained(name: str) -> None:
    told = explain(name).stdout
    assert told.startswith(f"{name} (Plans: ")
    assert "What to do: " in told


def test_every_reason_of_a_stalled_publication_is_explained() -> None:
    reasons = set(find_arguments(SERVER, "Stalled", "reason"))
    assert len(reasons) > 10
    assert reasons | {"TagRefused", "Frozen", "Suspended"} <= OTHERS


def test_every_code_of_a_response_is_explained() -> None:
    codes = {
        code for call in ("Thrown", "HttpFailure", "JobFailure")
        for code in find_arguments(ROOT / "bbops/runtime", call, "code")
    }  # fmt: skip
    assert len(codes) > 10
    assert codes <= OTHERS
    assert set(re.findall(r"\| `(\w+)`", JOB_CODES)) <= OTHERS
    assert set(re.findall(r"\| \d+ \| `(\w+)`", SERVER_CODES)) <= OTHERS


def find_arguments(folder: Path, call: str, keyword: str) -> Iterator[str]:
    """Yield the text of a keyword in each call, else the text of the first argument."""
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == call:
                named = [one.value for one in node.keywords if one.arg == keyword]
                first = node.args[0] if node.args else None
                for value in named or [first]:
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        yield value.value


def test_without_a_code_all_are_listed_by_section() -> None:
    lines = explain().stdout.splitlines()
    assert lines[0] == "Expressions"
    assert {line.split()[0] for line in lines if line.startswith("  ")} == {*LISTED, *PLAN_CODES}


def test_a_misspelt_code_names_the_nearest() -> None:
    result = explain("unknwon-table")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: there is no code or word 'unknwon-table'\n    hint: did you mean 'unknown-table'?\n"
    )


# ---- words of the language
TOPICS = read_topics()


@pytest.mark.parametrize("topic", TOPICS, ids=lambda one: f"{one.group} {one.name}")
def test_every_word_is_explained(topic: Topic) -> None:
    result = explain(topic.group, topic.name)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{topic.name} ({topic.group})\n\n")
    assert len(result.stdout.splitlines()) > 2
    assert not {"```", "](", "| ---"} & {*re.findall(r"```|\]\(|\| ---", result.stdout)}


def test_all_that_the_language_has_is_a_word() -> None:
    words: dict[str, set[str]] = {}
    for one in TOPICS:
        words.setdefault(one.group, set()).add(one.name)
    assert words["type"] == set(read_reference()["type"])
    assert words["operator"] == set(read_reference()["operator"])
    assert words["filter"] == set(FILTERS)
    assert words["function"] == {*FUNCTIONS, *RELATED_WORDS, *WINDOWS, *FUNCTIONS_OF}
    assert words["step"] >= set(step_kinds())
    assert words["step"] - set(step_kinds()) == {
        f"{name}.{key}" for name, addon in addon_kinds().items() for key in addon.actions
    }
    assert words["kind"] == {"crud", *(kind.__name__.lower() for kind in kinds().values())}
    assert words["addon"] == set(addon_kinds())
    assert words["key"] == {
        f"{kind.__name__.lower()}.{key}"
        for kind in (*kinds().values(), Crud)
        for key in fields(kind)
    }


def test_a_filter_is_explained_with_how_it_is_written_and_an_example() -> None:
    assert explain("filter", "startsWith").stdout == (
        "startsWith (filter)\n\n"
        "    text | startsWith(other: text) → boolean\n\n"
        "Whether the text begins with another; case counts.\n\n"
        "    'hello' | startsWith('he')  →  true\n\n"
        "Runs on columns, too. The text that is searched for has at most 1,000 characters.\n\n"
        "    value: string \"hello\"\n    value | startsWith('he')  →  true\n"
    )


def test_a_date_filter_is_explained_with_its_letters() -> None:
    told = explain("filter", "date").stdout
    assert "date(form: text, zone?: text) → text" in told
    assert "'%B'    month's name" in told


def test_a_type_is_explained_with_what_it_takes_and_where_it_is_stored() -> None:
    told = explain("type", "decimal").stdout
    assert told.startswith("decimal (type)\n\n    decimal: JSON number or text → JSON text\n")
    assert '    9.99  →  "9.99"\n' in told
    assert "Stored as 'TEXT' on SQLite and 'numeric' on PostgreSQL." in told


@pytest.mark.parametrize("words", [["not in"], ["not", "in"]])
def test_an_operator_of_two_words_is_explained(words: list[str]) -> None:
    assert explain("operator", *words).stdout.startswith("not in (operator)\n")


def test_a_filter_is_explained_as_data() -> None:
    told = json.loads(explain("filter", "round", "--json").stdout)
    assert (told["kind"], told["name"], told["gives"]) == ("filter", "round", "number")
    assert told["arguments"] == [{"name": "places", "takes": "integer", "is_optional": True}]
    assert told["example"] == {"expression": "2.345 | round(2)", "result": 2.35}
    assert told["difference"]["on_postgres"] == 123456789012345.67


def test_a_name_that_several_have_is_explained_of_each() -> None:
    told = explain("min").stdout
    assert "min (filter)" in told
    assert "min (function)" in told
    assert [one["kind"] for one in json.loads(explain("min", "--json").stdout)] == [
        "filter", "function",
    ]  # fmt: skip


def test_those_of_a_kind_are_listed() -> None:
    lines = explain("filter").stdout.splitlines()
    assert {line.split()[0] for line in lines[1:]} == set(FILTERS)


@pytest.mark.parametrize(("words", "told", "cure"), [
    (["filter", "ad"], "there is no filter 'ad'", "did you mean 'add'?"),
    (["type", "decmal"], "there is no type 'decmal'", "did you mean 'decimal'?"),
    (["operator", "nt in"], "there is no operator 'nt in'", "did you mean 'not in'?"),
    (["function", "nwo"], "there is no function 'nwo'", "did you mean 'now'?"),
    (["filter", "qqqqqq"], "there is no filter 'qqqqqq'", "'bbops explain filter' lists all"),
    (["qqqqqq"], "there is no code or word 'qqqqqq'", "'bbops explain' lists the codes"),
    (["filters", "add"], "there is no kind 'filters'", "choose one of code, type, operator"),
    (["a", "b", "c"], "got unexpected extra argument (c)", "see 'bbops explain --help'"),
])  # fmt: skip
def test_what_is_not_there_is_said_with_what_is(words: list[str], told: str, cure: str) -> None:
    result = explain(*words)
    assert result.exit_code == 2
    assert f"error: {told}" in result.stderr
    assert cure in result.stderr
