"""The strict check where golden folders do not reach: its bounds, and what others build on it."""

from __future__ import annotations

from pathlib import Path

import pytest

import bbops.language.steps
from bbops.compiler.check import validate
from bbops.compiler.compile.release import Cache, build
from bbops.language.steps import _base
from bbops.source.tree import MemoryTree
from tests.conftest import Files, with_function
from tests.support.time_limits import in_time

pytestmark = pytest.mark.quick


def found(files: Files | str) -> list[str]:
    """Return the codes of what validate says."""
    files = with_function(files) if isinstance(files, str) else files
    return [one.code for one in validate(MemoryTree(files))[1]]


# ---- bounds: no project of a reasonable size makes the check slow


def nested_loops(depth: int) -> str:
    lines = ["steps:", "  - set: { a: 0 }"]
    for at in range(depth):
        lines.append("  " + "    " * at + "- loop:")
        lines.append("  " + "    " * at + "    over: range(2)")
        lines.append("  " + "    " * at + "    steps:")
    inner = "  " + "    " * depth
    lines.append(inner + "- set: { a: '${ [vars.a] }' }")
    lines.append(inner + "- log: { message: '${ vars.a | json }' }")
    return "\n".join(lines) + "\n"


def test_loops_in_loops_are_checked_in_time() -> None:
    assert found(nested_loops(2)) == []
    with in_time():
        found(nested_loops(15))


def test_a_type_that_doubles_with_each_step_is_checked_in_time() -> None:
    lines = ["input: { x: json }", "steps:", "  - set: { a: { b: '${ input.x }' } }"]
    lines += ["  - set: { a: { b: '${ vars.a }', c: '${ vars.a }' } }"] * 60
    lines += ["  - if: input.x == 1", "    then: [ set: { a: { b: '${ vars.a }', d: 1 } } ]"]
    lines += ["  - return: { value: '${ vars.a | json | length }' }"]
    with in_time():
        found("\n".join(lines) + "\n")


def test_conditions_in_conditions_are_checked_in_time() -> None:
    condition = "input.x == 1"
    for at in range(45):
        condition = f"({condition}) {('and', 'or')[at % 2]} input.x{at % 9} != null"
    shape = ", ".join(f"x{at}?: integer" for at in range(9))
    text = f"input: {{ x?: integer, {shape} }}\nsteps:\n  - find:\n      table: notes\n"
    text += f"      where: id == input.x0 or {condition}\n    as: a\n  - log: {{ message: a }}\n"
    with in_time():
        found(text)


def chain(length: int) -> Files:
    """Return functions that hand a secret on to each other; the last one logs it."""
    files = with_function(
        "steps:\n  - call: { function: f0, input: { x: '${ env.JWT_SECRET }' } }\n"
    )
    for at in range(length):
        step = f"call: {{ function: f{at + 1}, input: {{ x: '${{ input.x }}' }} }}"
        files[f"functions/f{at}.yaml"] = f"input: {{ x: string }}\nsteps:\n  - {step}\n"
    last = "input: { x: string }\nsteps:\n  - log: { message: '${ input.x }' }\n"
    return files | {f"functions/f{length}.yaml": last}


@pytest.mark.parametrize("length", [0, 1, 5, 400])
def test_a_secret_is_followed_through_calls_however_many(length: int) -> None:
    assert found(chain(length)) == ["private-data"]


def circle(length: int) -> Files:
    """Return functions that call each other in a circle and give what the next one gives."""
    files = with_function(
        "steps:\n  - call: { function: f0, input: { n: 1 } }\n    as: x\n"
        "  - return: { value: '${ vars.x + 1 }' }\n"
    )
    for at in range(length):
        step = f"call: {{ function: f{(at + 1) % length}, input: {{ n: '${{ input.n - 1 }}' }} }}"
        ends = "  - if: input.n < 0\n    then: [ return: { value: a } ]\n" if at == 0 else ""
        files[f"functions/f{at}.yaml"] = (
            f"input: {{ n: integer }}\nsteps:\n{ends}  - {step}\n    as: x\n"
            "  - return: { value: '${ vars.x }' }\n"
        )
    return files


@pytest.mark.parametrize("length", [1, 2, 50])
def test_a_circle_of_functions_has_the_type_of_its_end(length: int) -> None:
    assert found(circle(length)) == ["type"]


@pytest.mark.long
def test_a_thousand_functions_that_call_each_other_in_turn_are_checked() -> None:
    files = with_function("steps:\n  - call: { function: f0 }\n")
    for at in range(1_000):
        files[f"functions/f{at}.yaml"] = (
            f"steps:\n  - call: {{ function: f{at + 1} }}\n    as: x\n"
            "  - return: { value: '${ vars.x }' }\n"
        )
    files["functions/f1000.yaml"] = "steps:\n  - return: { value: 1 }\n"
    assert found(files) == []


# ---- what else depends on a type


def test_a_function_is_compiled_again_when_a_type_it_calls_for_changes() -> None:
    caller = (
        "steps:\n  - call: { function: outer }\n    as: x\n"
        "  - if: vars.x\n    then: [ return: { value: 1 } ]\n  - return: { value: 2 }\n"
    )
    files = with_function(caller)
    files["functions/outer.yaml"] = (
        "steps:\n  - call: { function: inner }\n    as: x\n  - return: { value: '${ vars.x }' }\n"
    )
    files["functions/inner.yaml"] = "steps:\n  - return: { value: true }\n"
    cache = Cache()
    before = build(MemoryTree(files), cache)
    files["functions/inner.yaml"] = "steps:\n  - return: { value: \"${ 'true' | parseJson }\" }\n"
    after = build(MemoryTree(files), cache)
    assert (before.compiled, after.compiled) == (4, 3)


def behind(middleware: str, function: str) -> Files:
    files = with_function(function)
    files["endpoints/run.yaml"] += "channel: api\n"
    files["channels/api.yaml"] = (
        "name: Api\nbasePath: /\nauthentication: None\nmiddleware: [first]\n"
    )
    return files | {"functions/first.yaml": middleware}


def test_what_middleware_sets_on_every_path_is_set_behind_it() -> None:
    text = "steps:\n  - return: { value: '${ vars.a + 1 }' }\n"
    middleware = "steps:\n  - if: query.x == null\n    then: [ {} ]\n  - set: { a: 2, b: 3 }\n"
    ends = {
        "throw: { status: 401 }": [], "return: { value: 1 }": [], "return: {}": ["maybe-unset"],
        "set: { a: 1 }": [], "set: { a: null }": [], "log: { message: a }": [],
    }  # fmt: skip
    for step, codes in ends.items():
        assert found(behind(middleware.replace("{}", step), text)) == codes, step


def test_middleware_that_cannot_be_read_is_the_only_mistake() -> None:
    text = "steps:\n  - return: { value: '${ vars.user.name + 1 }' }\n"
    assert found(behind("steps:\n  - fnid: { table: notes }\n", text)) == ["unknown-step"]


def test_functions_that_run_before_each_other_are_checked() -> None:
    files = behind("steps:\n  - set: { a: 1 }\n  - call: { function: run }\n", "steps:\n  - log: "
                   "{ message: a }\n")  # fmt: skip
    files["channels/other.yaml"] = files["channels/api.yaml"].replace("first", "run")
    files["channels/other.yaml"] = files["channels/other.yaml"].replace("/", "/other")
    files["endpoints/other.yaml"] = (
        "channel: other\nmethod: GET\npath: /a\nfunction: first\ndescription: Tried.\n"
    )
    assert found(files) == []


# ---- a step with paths of its own


ATTEMPT = '''"""attempt: try steps, and others when they fail."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar

from bbops.language.expressions.types import NULL, Type
from bbops.base.model import Model
from bbops.language.steps._base import Checking, Example, Step, Steps, variables
from bbops.language.steps._flow import Flow


class Attempt(Step):
    """Try steps, and others when they fail."""

    title: ClassVar[str] = "Attempt"
    examples: ClassVar[tuple[Example, ...]] = ()

    attempt: Steps
    catch: Steps

    def check(self, at: Checking) -> Type:
        tried = at.branch(self.attempt)
        names = list(variables(self.attempt))
        failed = at.branch(self.catch, start=at.may_stop(names, "it may have failed before"))
        at.rejoin(("only when nothing fails", tried), ("only 'catch' sets it", failed))
        return NULL

    def blocks(self) -> Sequence[Sequence[Step]]:
        return (self.attempt, self.catch)

    def code(self, flow: Flow) -> list[ast.stmt]:
        return flow.block(self.attempt)
'''


@pytest.mark.parametrize(
    ("steps", "codes"),
    [
        ("attempt: [ set: { a: 1 } ], catch: [ set: { a: 2 } ]", []),
        ("attempt: [ set: { a: 1 } ], catch: [ throw: {} ]", []),
        ("attempt: [ set: { a: 1 } ], catch: [ log: { message: b } ]", ["maybe-unset"]),
        ("attempt: [ set: { a: 1 } ], catch: [ log: { message: '${ vars.a }' } ]", ["maybe-unset"]),
        ("attempt: [ set: { b: null, a: 1 } ], catch: [ set: { a: '${ vars.b + 1 }' } ]",
         ["maybe-null"]),
        ("attempt: [ return: { value: 1 } ], catch: [ set: { a: 1 } ]", []),
        ("attempt: [ set: { b: 2, a: 1 }, throw: {} ], catch: [ set: { a: '${ vars.b }' } ]", []),
    ],
)  # fmt: skip
def test_a_new_step_says_in_one_method_which_paths_it_has(
    steps: str, codes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "attempt.py").write_text(ATTEMPT)
    monkeypatch.setattr(
        bbops.language.steps, "__path__", [*bbops.language.steps.__path__, str(tmp_path)]
    )
    _base.step_kinds.cache_clear()
    text = (
        "steps:\n  - set: { b: 1 }\n  - { STEPS }\n  - return: { value: '${ vars.a + vars.b }' }\n"
    )
    try:
        wrong = [code for code in found(text.replace("STEPS", steps)) if code != "unused-variable"]
        assert wrong[:1] == codes
    finally:
        _base.step_kinds.cache_clear()
