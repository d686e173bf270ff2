"""API keys that the cases of a project's tests send."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Files, with_function
from tests.support.cases import bbops_test, write

CHANNEL = "name: Machines\nbasePath: /machines\nauthentication: API Key\n"
ENDPOINT = "channel: machines\nmethod: GET\npath: /who\nfunction: who\ndescription: The caller.\n"
FILES = {
    "channels/machines.yaml": CHANNEL,
    "endpoints/who.yaml": ENDPOINT,
    "functions/who.yaml": "steps:\n  - return: { value: '${ vars.apiKey }' }\n",
}
CASES = """endpoint: who
cases:
  - name: a key opens the channel
    apiKey: {}
    expect:
      status: 200
      value: { name: test, claims: {} }

  - name: the function reads what the case says of the key
    apiKey:
      id: key-1
      name: Partner
      claims: { tier: gold, rooms: [1, 2] }
    expect:
      value: { id: key-1, name: Partner, claims: { tier: gold, rooms: [1, 2] } }

  - name: without a key the channel is closed
    expect: { status: 401 }
"""
FUNCTION = """function: who
cases:
  - name: a function reads the key of its caller
    apiKey: { name: Partner }
    expect:
      value: { name: Partner, claims: {} }
"""


def project(folder: Path, **tests: str) -> Path:
    files: Files = with_function("steps:\n  - return: {}\n") | FILES
    return write(folder, files | {f"tests/{name}.yaml": text for name, text in tests.items()})


def test_a_case_sends_an_api_key(tmp_path: Path) -> None:
    result = bbops_test(project(tmp_path, who=CASES, function=FUNCTION))
    assert result.exit_code == 0, result.output
    assert "who.yaml: 3 cases passed" in result.output


def test_a_case_sends_an_api_key_on_postgres(tmp_path: Path, postgres: str) -> None:
    result = bbops_test(project(tmp_path, who=CASES), "--database-url", postgres)
    assert result.exit_code == 0, result.output
    assert "who.yaml: 3 cases passed" in result.output


def test_a_key_counts_for_its_case_only(tmp_path: Path) -> None:
    counted = CASES.replace("      status: 200\n", "      status: 200\n      rows: { notes: 0 }\n")
    result = bbops_test(
        project(tmp_path, who=counted.replace("{ status: 401 }", "{ status: 200 }"))
    )
    assert result.exit_code == 1
    assert "expected status 200, found 401" in result.output


def test_a_key_for_an_endpoint_that_takes_none_is_a_mistake(tmp_path: Path) -> None:
    test = "endpoint: run\ncases:\n  - name: a\n    apiKey: {}\n    expect: { status: 200 }\n"
    result = bbops_test(project(tmp_path, who=test))
    assert "tests/who.yaml:4:5" in result.output
    assert "endpoint 'run' takes no API key: its authentication is" in result.output
    assert "hint: remove it" in result.output


@pytest.mark.parametrize("about", ["task: nightly", "trigger: told"])
def test_a_key_for_work_without_a_caller_is_a_mistake(tmp_path: Path, about: str) -> None:
    files = {
        "tasks/nightly.yaml": "every: 1h\nfunction: run\n",
        "triggers/told.yaml": "on: { event: note.told }\nfunction: run\n",
    }
    folder = project(
        tmp_path, who=f"{about}\ncases:\n  - name: a\n    apiKey: {{}}\n    expect: {{}}\n"
    )
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    result = bbops_test(folder)
    assert "'apiKey' is for tests of endpoints and functions" in result.output


@pytest.mark.parametrize(("part", "message"), [
    ("name: 5", "'apiKey.name' needs a text, got integer"),
    ("id: true", "'apiKey.id' needs a text, got boolean"),
    ("claims: gold", "'apiKey.claims' needs a map, got text"),
])  # fmt: skip
def test_a_part_of_the_key_has_its_type(tmp_path: Path, part: str, message: str) -> None:
    test = CASES.replace("apiKey: {}", f"apiKey: {{ {part} }}")
    result = bbops_test(project(tmp_path, who=test))
    assert f"tests/who.yaml:4:{15 + len(part.partition(':')[0]) + 2}" in result.output
    assert message in result.output


def test_an_unknown_part_of_the_key_names_the_right_one(tmp_path: Path) -> None:
    result = bbops_test(project(tmp_path, who=CASES.replace("name: Partner", "nmae: Partner")))
    assert "unknown key 'nmae'" in result.output
    assert "did you mean 'name'?" in result.output
