"""Whatever stands in a project, validating ends soon: with findings or without, never otherwise."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bbops.base.diagnostics import LONGEST
from bbops.compiler.check import Cache, validate
from bbops.compiler.compile.release import build
from bbops.compiler.testing.host import fake_host
from bbops.runtime.linking.release import link
from bbops.source.tree import MemoryTree
from tests.conftest import ENV, ROOT, sample, with_function
from tests.support.time_limits import in_time

OFTEN = int(os.environ.get("BBOPS_BAD_INPUT", "600"))
"""Changes to a sample that CI tries."""


def codes(files: dict[str, str] | dict[str, bytes]) -> list[str]:
    with in_time():
        _, diagnostics = validate(MemoryTree(files))
    assert all(len(one.message) <= LONGEST and len(one.hint) <= LONGEST for one in diagnostics)
    return [one.code for one in diagnostics if one.severity == "error"]


def of_function(text: str) -> list[str]:
    return codes(with_function(text))


def returning(expression: str) -> str:
    return f"input: {{ text: string }}\nsteps:\n  - return:\n      value: ${{ {expression} }}\n"


# ---- size
@pytest.mark.parametrize("text", [
    "steps:\n  - log: { message: " + "a" * 10_000_000 + " }\n",
    "steps:\n  - log:\n      message: |\n" + "        a line\n" * 700_000,
    'steps:\n  - log: { message: "' + "\\u0041" * 1_700_000 + '" }\n',
])  # fmt: skip
def test_ten_megabytes_are_refused(text: str) -> None:
    assert of_function(text) == ["yaml-too-large"]


@pytest.mark.parametrize("style", ["{}", "'{}'", '"{}"', "|\n        {}", ">\n        {}"])
def test_a_scalar_of_a_million_characters_is_read(style: str) -> None:
    value = style.format("a" * 1_000_000)
    assert of_function(f"steps:\n  - log:\n      message: {value}\n") == []


EXPRESSIONS = [
    "1" + " + 1" * 25_000, "a" * 100_000, "9" * 100_000, "'" + "a" * 99_998 + "'",
    "'" + "a" * 100_000, "(" * 100_000, "[" * 100_000, "not " * 25_000 + "true",
    "-" * 100_000 + "1", "input" + ".text" * 20_000, "input.text" + " | trim" * 14_000,
    "1 if true else " * 6_500 + "1", " " * 100_000, "min(" * 25_000, "input.text" + "[0]" * 33_000,
    "'" + "\\" * 100_001, "1 in " * 20_000 + "[1]", "${" * 50_000, "}" * 100_000, "?" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=lambda expression: expression[:12])
def test_an_expression_of_100_000_characters_ends_with_findings(expression: str) -> None:
    found = of_function(returning(expression))
    assert len(found) <= 2
    assert found or expression.startswith("'a")  # one long text is right


def test_a_text_of_many_expressions_is_checked_in_time() -> None:
    text = "${ input.text }" * 6_000
    assert (
        of_function(f"input: {{ text: string }}\nsteps:\n  - return: {{ value: '{text}' }}\n") == []
    )


# ---- patterns
@pytest.mark.parametrize("pattern", [
    "(a+)+$", "(a|aa)+$", "(.*)*x", "a{1000}", "((a{100}){100}){100}", "(?=a)", "(", "[" * 1_000,
    "(" * 5_000 + ")" * 5_000,
])  # fmt: skip
def test_a_pattern_runs_in_linear_time_or_is_refused(pattern: str) -> None:
    shape = f"input: {{ text: {{ type: string, pattern: '{pattern}' }} }}\n"
    with in_time():
        found = of_function(f"{shape}steps:\n  - return: {{ value: ${{ input.text }} }}\n".replace(
            "${ input.text }", "'${ input.text }'"))  # fmt: skip
    assert found in ([], ["bad-pattern"])


# ---- circles
def test_functions_that_call_each_other_are_right() -> None:
    names = [f"f{number}" for number in range(60)]
    files = {
        f"functions/{name}.yaml": "steps:\n" + "".join(
            f"  - call: {{ function: {other} }}\n    as: a{other}\n" for other in names[:10]
        ) + "  - return: { value: '${ vars.af0 }' }\n"
        for name in names
    }  # fmt: skip
    assert codes(sample() | files) == ["endless-recursion"] * 10  # of those that call themselves


@pytest.mark.long
def test_a_long_chain_of_calls_is_checked() -> None:
    step = "steps:\n  - call: { function: fNEXT }\n    as: v\n"
    text = step + "  - return: { value: '${ vars.v }' }\n"
    files = {f"functions/f{n}.yaml": text.replace("NEXT", str(n + 1)) for n in range(1_500)}
    files["functions/f1500.yaml"] = "steps:\n  - return: { value: 1 }\n"
    assert codes(sample() | files) == []


def test_tables_that_refer_to_themselves_and_in_a_circle_are_right() -> None:
    table = """
columns:
  id: {{ type: uuid, primaryKey: true, auto: uuid }}
  parent_id: {{ type: uuid, nullable: true, references: {own}.id, reverse: own_{own} }}
  other_id: {{ type: uuid, nullable: true, references: {other}.id, reverse: others_{own} }}
"""
    tables = {f"tables/{own}.yaml": table.format(own=own, other=other)
              for own, other in (("a", "b"), ("b", "c"), ("c", "a"))}  # fmt: skip
    path = ".".join(["parent"] * 2)
    find = f"steps:\n  - find: {{ table: a, where: {path}.id == null }}\n    as: x\n"
    assert codes(with_function(find + "  - return: { value: '${ vars.x }' }\n") | tables) == []


def test_middleware_before_itself_ends() -> None:
    channel = "name: c\nbasePath: /c\nauthentication: None\nmiddleware: [m, m, n]\n"
    each = "steps:\n  - call: { function: %s }\n  - set: { x: 1 }\n"
    files = {"channels/c.yaml": channel, "functions/m.yaml": each % "n",
             "functions/n.yaml": each % "m",
             "endpoints/e.yaml": "method: GET\npath: /e\nfunction: m\nchannel: c\n"}  # fmt: skip
    codes(sample() | files)


# ---- letters
@pytest.mark.parametrize(
    "name", ["n\u0430mes", "\uff4eames", "na\u0301mes", "names\u200b", "NAMES", "nam es"]
)
def test_names_that_look_like_others_are_refused(name: str) -> None:
    table = "columns:\n  id: { type: integer, primaryKey: true }\n"
    assert "file-name" in codes(sample() | {f"tables/{name}.yaml": table})
    column = (
        f"columns:\n  id: {{ type: integer, primaryKey: true }}\n  '{name}': {{ type: string }}\n"
    )
    assert codes(sample() | {"tables/other.yaml": column}) == ["bad-name"]


@pytest.mark.parametrize("name", ["in\u0440ut", "\uff49nput", "input\u200b"])
def test_an_expression_takes_ascii_names_only(name: str) -> None:
    assert of_function(returning(f"{name}.text")) == ["expression-syntax"]


@pytest.mark.parametrize("ending", ["\r\n", "\r", "\n"])
def test_line_ends_of_every_system_are_the_same(ending: str) -> None:
    text = returning("input.txt").replace("\n", ending)
    _, (found,) = validate(MemoryTree(with_function(text)))
    assert (found.code, found.place.line, found.place.column) == ("unknown-field", 4, 23)


def test_a_tab_in_the_indentation_is_one_finding() -> None:
    assert len(of_function("steps:\n\t- return: { value: 1 }\n")) == 1


@pytest.mark.parametrize("data", [
    b"\xff\xfe", b"\x00", b"a: \xc3\x28\n", b"\xef\xbb\xbf", b"", b"---\n", b"...\n",
    b"%YAML 1.2\n", b"a" * 70_000 + b": 1\n",
])  # fmt: skip
@pytest.mark.parametrize("file", ["project.yaml", "functions/run.yaml", "tables/notes.yaml"])
def test_any_bytes_end_with_findings(data: bytes, file: str) -> None:
    files = {
        name: text.encode()
        for name, text in with_function("steps: [log: { message: a }]\n").items()
    }
    assert codes(files | {file: data})


# ---- depth
@pytest.mark.parametrize("depth", [20, 70, 5_000])
def test_steps_in_steps_at_any_depth_end(depth: int) -> None:
    lines = ["steps:"]
    for level in range(depth):
        lines += ["  " * (2 * level + 1) + "- if: true", "  " * (2 * level + 2) + "then:"]
    lines.append("  " * (2 * depth + 1) + "- log: { message: a }")
    found = of_function("\n".join(lines)) if depth < 1_000 else of_function(
        "steps: " + "[{if: true, then: " * depth)  # fmt: skip
    assert found == ([] if depth == 20 else ["yaml-too-deep"])


def test_fields_in_fields_at_any_depth_end() -> None:
    shape = "{ fields: { a: " * 25 + "string" + " } }" * 25
    assert of_function(f"input: {{ a: {shape} }}\nsteps: [log: {{ message: a }}]\n") == []


# ---- anything
PROJECTS = {
    folder.name: {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.yaml"))
    }
    for folder in (ROOT / "tests/samples/blog", ROOT / "project-template")
}  # fmt: skip
NO_DATABASE: Any = None  # nothing is asked of it: no request is answered
WORDS = st.sampled_from([
    "null", "true", "7", "-1", "1e400", "''", "[]", "{}", "${ input }", "${", "}", ": ", "- ", "&a",
    "*a", "!t", "|", ">", "#", "'", '"', "\t", "\r", "\x00", "steps:", "if: ", "where: ", "\ufeff",
    "[[[", "id", "?", "🙂", "${ vars.x.y | default(1) }", "not ", " == ", "exists(a)", "2026-01-01",
])  # fmt: skip


@cache
def kept() -> Cache:
    """Return what was read before: the files that no example changes."""
    return Cache()


@st.composite
def changed(draw: st.DrawFn) -> dict[str, str]:
    """Draw a sample project in which one file has some lines or characters changed."""
    project = PROJECTS[draw(st.sampled_from(sorted(PROJECTS)))]
    file = draw(st.sampled_from(sorted(project)))
    lines = project[file].splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        other = draw(st.integers(0, len(lines) - 1))
        column = draw(st.integers(0, len(lines[at])))
        match draw(st.sampled_from(["drop", "double", "swap", "word", "cut", "indent"])):
            case "drop":
                lines[at] = ""
            case "double":
                lines[at] += lines[other]
            case "swap":
                lines[at], lines[other] = lines[other], lines[at]
            case "word":
                lines[at] = lines[at][:column] + draw(WORDS) + lines[at][column:]
            case "cut":
                lines[at] = lines[at][:column] + lines[at][draw(st.integers(column, column + 9)) :]
            case "indent":
                lines[at] = draw(st.sampled_from([" ", "  ", "\t", "-"])) + lines[at]
    return project | {file: "".join(lines)}


def end(files: dict[str, str], folder: Path) -> None:
    """Validate; what has no errors also compiles, and is linked."""
    with in_time():
        project, diagnostics = validate(MemoryTree(files), kept())
    for one in diagnostics:
        assert len(one.message) <= LONGEST
        lines = files.get(one.place.file, "").splitlines()
        assert 1 <= one.place.line <= max(1, len(lines) + 1)
        assert one.place.column >= 1
    assert (project is None) == any(one.severity == "error" for one in diagnostics)
    if project is not None:
        built = build(MemoryTree(files))
        env = dict.fromkeys(project.settings.model.env, ENV["JWT_SECRET"])
        link(built.artifact, name="fuzz", host=fake_host(NO_DATABASE), env=env)


@pytest.mark.long
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(files=changed())
def test_whatever_is_changed_in_a_sample_ends(files: dict[str, str], tmp_path: Path) -> None:
    end(files, tmp_path)


@pytest.mark.long
@settings(max_examples=OFTEN, deadline=None, suppress_health_check=list(HealthCheck))
@given(files=changed())
def test_whatever_is_changed_in_a_sample_ends_often(files: dict[str, str], tmp_path: Path) -> None:
    end(files, tmp_path)
