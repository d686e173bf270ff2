"""What a function does with a private value it is given is told where the value is given."""

from __future__ import annotations

import pytest

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import PROJECT, Files, with_function
from tests.support.time_limits import in_time

NOTES = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  title: { type: string }
"""
COMPARES = """
input: { key: string, given: string }
steps:
  - if: input.key == input.given
    then: [ { return: { value: true } } ]
  - return: { value: false }
"""


def found(calls: str, **functions: str) -> list[Diagnostic]:
    env = "env:\n  SECRET: { secret: true, required: true }\n"
    files: Files = with_function(f"input: {{ given: string }}\nsteps:\n{calls}")
    files |= {f"functions/{name}.yaml": text for name, text in functions.items()}
    files |= {"project.yaml": PROJECT.replace("env:\n", env), "tables/notes.yaml": NOTES}
    return [one for one in validate(MemoryTree(files))[1] if one.severity == "error"]


def call(function: str, key: str, name: str = "key") -> str:
    given = f'{name}: "${{ {key} }}", given: "${{ input.given }}"'
    step = f"  - call: {{ function: {function}, input: {{ {given} }} }}\n    as: is_right\n"
    return f"{step}  - return: {{ value: '${{ vars.is_right }}' }}\n"


def test_a_secret_that_a_called_function_compares_is_told_at_the_call() -> None:
    (one,) = found(call("compares", "env.SECRET"), compares=COMPARES)
    assert (one.code, one.place.file) == ("secret-compared", "functions/run.yaml")
    assert "functions/compares.yaml:4" in one.hint
    assert not found(call("compares", "input.given | hmac(env.SECRET)"), compares=COMPARES)
    assert not found(call("compares", "env.GREETING"), compares=COMPARES)


@pytest.mark.parametrize(
    "key",
    ["env.SECRET | lower", "'a' if input.given == 'x' else env.SECRET", "env.SECRET + 'a'",
     "[env.SECRET] | json", "['a', env.SECRET] | join(',')", "env.SECRET | default('x')"],
)  # fmt: skip
def test_what_is_made_of_a_secret_stays_one(key: str) -> None:
    assert [one.code for one in found(call("compares", key), compares=COMPARES)] == [
        "secret-compared"
    ]
    compares = f"  - if: ({key}) == input.given\n    then: [ {{ return: {{}} }} ]\n"
    assert [one.code for one in found(compares)] == ["secret-compared"]


def test_a_secret_is_followed_through_calls_and_circles() -> None:
    between = "input: { key: string, given: string }\nsteps:\n"
    inner = call("FUNCTION", "input.key")
    on = between + inner.replace("FUNCTION", "compares")
    (one,) = found(call("on", "env.SECRET"), on=on, compares=COMPARES)
    assert (one.code, one.place.file) == ("secret-compared", "functions/run.yaml")
    # each of a circle compares through the other, and each is called
    first = between + "  - if: input.given == ''\n    then: [ { return: { value: no } } ]\n"
    second = first + inner.replace("FUNCTION", "first").replace("is_right", "other")
    first += inner.replace("FUNCTION", "second").replace(
        "  - return", "  - if: input.given == input.key\n    then: [ { log: { message: a } } ]\n"
        "  - return"
    )  # fmt: skip
    twice = call("first", "env.SECRET").replace("is_right", "a").split("  - return")[0]
    told = found(twice + call("second", "env.SECRET"), first=first, second=second)
    compared = [one.place for one in told if one.code == "secret-compared"]
    assert {(one.file, one.line) for one in compared} == {
        ("functions/run.yaml", line) for line in (3, 5)
    }


def test_a_private_value_that_a_called_function_stores_is_told_at_the_call() -> None:
    keeps = """
input: { key: string, given: string }
steps:
  - insert: { table: notes, data: { title: "${ input.key }" } }
  - return: { value: "${ input.given }" }
"""
    (one,) = found(call("keeps", "env.SECRET"), keeps=keeps)
    assert (one.code, one.place.file) == ("private-stored", "functions/run.yaml")
    assert not found(call("keeps", "env.GREETING"), keeps=keeps)


def test_many_functions_that_call_each_other_with_a_secret_are_checked_in_time() -> None:
    names = [f"f{number}" for number in range(30)]
    head = "input: { key: string, given: string }\nsteps:\n"
    functions = {
        name: head + "".join(
            call(other, "input.key").split("  - return")[0].replace("is_right", f"v{other}")
            for other in names[:8]
        ) + "  - if: input.key == input.given\n    then: [ { return: {} } ]\n"
        for name in names
    }  # fmt: skip
    with in_time():
        told = found(call("f29", "env.SECRET"), **functions)
    assert "secret-compared" in {one.code for one in told}
