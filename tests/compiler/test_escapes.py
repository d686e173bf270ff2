"""Nothing leads out of the language: each attempt is refused, or is a key that is not there."""

from __future__ import annotations

import builtins
import marshal
from collections.abc import Iterator
from types import CodeType
from typing import Any

import pytest

from bbops.compiler.check import validate
from bbops.compiler.compile.release import build
from bbops.compiler.testing.host import fake_host
from bbops.runtime.linking.functions import resolve
from bbops.runtime.linking.release import link
from bbops.source.tree import FolderTree, MemoryTree
from tests.conftest import ENV, TEMPLATE, with_function
from tests.support.raw_requests import SENT, Ask, returning


def codes(files: dict[str, str]) -> set[str]:
    return {diagnostic.code for diagnostic in validate(MemoryTree(files))[1]}


REFUSED = [
    "foo",
    "''.format()",
    "'{0.__class__}' | format(input)",
    "'%s' % input.text",
    "input()",
    "input | attr('__class__')",
    "input.__class__",
    "input.__class__.__mro__",
    "input.map.__dict__",
    "input.text.__len__",
    "input.list.append",
    "input.list.__class__",
    "vars.__class__",
    "params.__class__",
    "env.__class__",
    "request.__class__",
    "lipsum",
    "self",
    "run",
    "host",
    "r_input",
    "run.host.database",
    "cycler",
    "builtins",
    "__builtins__",
    "__import__('os')",
    "eval('1')",
    "exec('1')",
    "open('/etc/passwd')",
    "getattr(input, 'x')",
    "input.list | map('upper')",
    "vars.nope",
    "1 if",
    "range",
    "(1).real()",
    "(1).__class__",
    "namespace()",
    "input.x()",
    "input.text.upper()",
    "2 ** 9999999",
    "'a' % 1",
    "'a' * 999999999",
    "input.list[1:2]",
    "1 // 0",
    "lambda: 1",
    "lambda x: x",
    "[x for x in input.list]",
    "f'{input}'",
    "f'{1}'",
    "b'x'",
    "{'a': 1}",
    "x := 1",
    "input.text; 1",
    "yield 1",
    "await 1",
    "...",
    "1_000",
    "0x10",
    "1e400",
    "9223372036854775808",
    "9" * 5_000,
    "'" + "a" * 10 + "' | matches('" + "(" * 500 + "')",
    "'a' | matches('(a+)+\\\\1')",
    "'a' | matches('(?=a)')",
    "'a' | matches('a{1000}{1000}')",
    "(" * 60 + "1" + ")" * 60,
    "[" * 60 + "1" + "]" * 60,
    "not " * 600 + "true",
    "-" * 600 + "1",
    "1" + " + 1" * 5_000,
    "input" + ".a" * 5_000,
    "input.json" + "[0]" * 5_000,
    "1" + " | abs" * 5_000,
    "1 if true else " * 200 + "1",
    "upper(" * 60 + "'a'" + ")" * 60,
    "now().__class__",
    "now()()",
    "uuid()[0].x",
    "\u0000",
    "input\u200b.text",
    "\uff49nput.text",
    "input.\uff54ext",
]


@pytest.mark.parametrize("expression", REFUSED, ids=lambda text: repr(text[:40]))
def test_validate_refuses_the_attempt(expression: str) -> None:
    assert codes(returning(expression)) != set()


@pytest.mark.parametrize(
    "expression",
    ["input.json.__class__", "input.json['__init__']", "input.json.items", "headers.__class__",
     "headers['__class__']", "query.__class__", "input.json.a.append", "headers.keys",
     "([input.map] | first | default(input.map))['__class__']",
     "input.json.__class__.__mro__.__subclasses__"],
)  # fmt: skip
def test_a_name_of_python_is_only_a_key_that_is_not_there(expression: str, ask: Ask) -> None:
    reply = ask(returning(expression), "POST", "/run", SENT)
    assert (reply.status, reply.json) == (200, None)


def test_a_key_that_has_the_name_of_a_method_is_a_key(ask: Ask) -> None:
    sent = SENT | {"json": {"items": [1], "__class__": "mine"}}
    assert ask(returning("input.json.items"), "POST", "/run", sent).json == [1]
    assert ask(returning("input.json.__class__"), "POST", "/run", sent).json == "mine"


# ---- what is compiled


def code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_objects(constant)


def compiled(files: Any) -> Iterator[dict[str, Any]]:
    built = build(files)
    assert built.diagnostics == ()
    yield from map(marshal.loads, marshal.loads(built.artifact)["functions"])


DOORS = {"host", "database", "clock", "random"}
ATTRIBUTES = {
    *DOORS, "auth", "env", "folder", "fuel", "headers", "input", "params", "query", "request",
    "vars", "read", "write", "change", "now", "uuid", "get", "append", "log", "sql", "values",
}  # fmt: skip


def test_compiled_code_touches_only_what_its_steps_ask_for() -> None:
    for function in compiled(FolderTree(TEMPLATE)):
        own = {*function["uses"], *function["constants"], *function["calls"], "run", "flow"}
        for code in code_objects(function["code"]):
            assert set(code.co_names) <= own | ATTRIBUTES, function["name"]


def test_no_name_of_python_reaches_compiled_code() -> None:
    everything = [name for name in dir(builtins) if name.islower()]
    for function in compiled(FolderTree(TEMPLATE)):
        for code in code_objects(function["code"]):
            assert not set(code.co_names) & set(everything) - ATTRIBUTES


def test_a_linked_function_has_no_builtins() -> None:
    built = build(FolderTree(TEMPLATE))
    release = link(built.artifact, name="a", host=fake_host(None), env=ENV)  # type: ignore[arg-type]
    for function in release.functions.values():
        flow: Any = function.flow
        assert flow.__globals__["__builtins__"] == {}
        assert flow.__closure__ is None


@pytest.mark.parametrize(
    "target", ["os:system", "builtins:eval", "bbops.compiler.compile.release:build", ":x"]
)
def test_the_linker_gives_only_parts_of_the_runtime(target: str) -> None:
    with pytest.raises((ImportError, KeyError)):
        resolve(target)


@pytest.mark.parametrize(
    "name",
    ["x", "run", "now_", "vars", "flow", "import", "class", "None", "print", "lambda", "v_x"],
)
def test_a_variable_may_have_any_name_that_is_allowed(name: str, ask: Ask) -> None:
    files = with_function(
        f"steps:\n  - set: {{ {name}: 5 }}\n  - return:\n      value: ${{ vars.{name} + 1 }}\n"
    )
    if codes(files):
        assert codes(files) == {"bad-name"}
    else:
        assert ask(files, "POST", "/run").json == 6
