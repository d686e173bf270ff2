"""`bbops explain`: the page of codes on the command line."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from bbops.assets import asset_folder
from bbops.authoring.codes import Code, read_codes
from bbops.check import validate
from bbops.cli._group import Commands
from bbops.tree import MemoryTree
from tests.conftest import sample

CODES = read_codes()
USERS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  name: { type: string }
  team_id: { type: integer, nullable: true }
  password_hash: { type: string, private: true }
"""
NOTES = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  title: { type: string }
  slug: { type: string, default: '' }
  done: { type: boolean, default: false }
"""
SHAPES = """
query: { team?: integer, slug?: string }
input:
  id: integer
  a: number
  b: number
  price: integer
  count: integer
  title: string
  bio?: string
  name?: string
  email?: email
  coupon?: string
"""
ENDPOINT = "method: POST\npath: /run\nfunction: run\nauthentication: JWT\ndescription: Runs.\n"
EXPLAINED = sorted(name for name, one in CODES.items() if one.examples)


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(Commands("bbops"), ["explain", *arguments])


def test_a_code_is_explained_with_wrong_and_right() -> None:
    result = explain("double-braces")
    assert result.exit_code == 0
    assert result.stdout == (
        "double-braces (Expressions and steps)\n\n"
        "'{{ }}' is plain text; expressions are written '${ }'.\n\n"
        '    # wrong\n    - return: { value: "Hello {{ input.name }}" }\n\n'
        '    # right\n    - return: { value: "Hello ${ input.name }" }\n'
    )


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.name)
def test_every_code_is_explained(code: Code) -> None:
    result = explain(f"[{code.name}]")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{code.name} (")


@pytest.mark.parametrize("name", EXPLAINED)
def test_examples_are_yaml_first_wrong_then_right(name: str) -> None:
    blocks = CODES[name].examples.split("```yaml\n")[1:]
    assert [block.split()[1].rstrip(":;") for block in blocks] == ["wrong", "right"]
    wrong, right = (block.partition("```")[0] for block in blocks)
    assert name in codes_of(wrong)
    assert name not in codes_of(right)


def codes_of(example: str) -> set[str]:
    """Return the codes of a list of steps, or of an endpoint, in a project that has its tables."""
    files = sample(functions__notes__list="steps: [{ return: {} }]\n", tables__users=USERS)
    files["tables/notes.yaml"] = NOTES
    if example.lstrip("# ").partition("\n")[2].startswith("- "):
        steps = "".join(f"  {line}\n" for line in example.splitlines())
        files["functions/run.yaml"] = f"{SHAPES}steps:\n{steps}"
        files["endpoints/run.yaml"] = ENDPOINT
    else:
        files["endpoints/run.yaml"] = example
    return {one.code for one in validate(MemoryTree(files))[1]}


def test_every_example_belongs_to_a_code() -> None:
    page = (asset_folder("docs") / "errors.md").read_text()
    linked = page.count("[Examples](#")
    assert linked == len(EXPLAINED) == page.count("\n### ")


def test_without_a_code_all_are_listed_by_section() -> None:
    lines = explain().stdout.splitlines()
    assert lines[0] == "Files and YAML"
    assert {line.split()[0] for line in lines if line.startswith("  ")} == set(CODES)


def test_a_misspelt_code_names_the_nearest() -> None:
    result = explain("unknwon-table")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: there is no code 'unknwon-table'\n    hint: did you mean 'unknown-table'?\n"
    )
