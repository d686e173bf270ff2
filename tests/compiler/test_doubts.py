"""Mistakes that are legal are told where they are made; what may be meant so is not."""

from __future__ import annotations

import pytest

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import PROJECT, Files, with_function

USERS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  role: { type: string, enum: [user, admin], default: user }
"""


def codes(files: Files) -> list[str]:
    return [one.code for one in found(files)]


def found(files: Files) -> list[Diagnostic]:
    return [*validate(MemoryTree(files))[1]]


def signing(role: str, compared: str = "vars.auth.role == 'amdin'", auth: str = "") -> Files:
    """Return a project whose tokens have a role, in which the role is compared."""
    steps = f"""
input: {{ role: string }}
steps:
  - find: {{ table: users, one: required, where: id == 1 }}
    as: user
  - generateAuthToken: {{ userId: "1"{role} }}
    as: token
  - return: {{ value: ["${{ {compared} }}", "${{ vars.token }}"] }}
"""
    files = with_function(steps, auth="JWT") | {"tables/users.yaml": USERS}
    files["project.yaml"] = PROJECT.replace("auth:\n", f"auth:\n  users: users\n{auth}")
    return files


@pytest.mark.parametrize(
    ("role", "is_told"),
    [
        ("", True),
        (', role: "${ vars.user.role }"', True),
        (", role: owner", True),
        (", role: amdin", False),  # the project itself says so
        (', role: "${ input.role }"', False),
        (", role: \"${ vars.user.role | default('x') }\"", False),
    ],
)
def test_a_role_is_known_where_every_token_takes_it_from_a_row(role: str, *, is_told: bool) -> None:
    assert ("unknown-role" in codes(signing(role))) == is_told


def test_a_role_that_tokens_name_counts_beside_those_of_the_column() -> None:
    assert "unknown-role" not in codes(signing(", role: owner", "vars.auth.role == 'owner'"))


def test_tokens_of_others_may_have_any_role() -> None:
    keys = "  keys: [{ algorithm: RS256, jwksUrl: 'https://id.example.com/keys' }]\n"
    assert "unknown-role" not in codes(signing("", auth=keys))


def test_a_role_in_a_list_and_in_a_query_is_looked_at_too() -> None:
    listed = signing("", "vars.auth.role in ['admin', 'owner']")
    assert "unknown-role" in codes(listed)
    queried = signing("")
    queried["functions/run.yaml"] = queried["functions/run.yaml"].replace(
        "where: id == 1", "where: id == 1 and vars.auth.role == 'owner'"
    )
    assert codes(queried).count("unknown-role") == 2


def test_a_new_role_in_the_column_is_known_at_once_with_a_warm_cache() -> None:
    from bbops.compiler.check import Cache  # noqa: PLC0415 - of this test alone

    cache, files = Cache(), signing("")
    assert "unknown-role" in {one.code for one in validate(MemoryTree(files), cache)[1]}
    files["tables/users.yaml"] = USERS.replace("[user", "[amdin, user")
    assert "unknown-role" not in {one.code for one in validate(MemoryTree(files), cache)[1]}


# ---- null, and the same on both sides
@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("input.a == null", ["never-null"]),
        ("input.a != null and input.a != null", ["never-null"]),
        ("input.b == null", []),
        ("input.b == null or input.b != null and input.b == 'x'", []),  # said twice, to be sure
        ("input.c.d == null", []),
        ("input.a == input.a", ["same-sides"]),
        ("input.b < 'x' if input.b != null else input.a >= input.a", ["same-sides"]),
        ("input.c[0] == input.c[1]", []),
    ],
)
def test_a_comparison_that_always_gives_the_same_is_told(condition: str, told: list[str]) -> None:
    function = f"""
input: {{ a: string, b?: string, c: json }}
steps:
  - return: {{ value: "${{ {condition} }}" }}
"""
    doubts = {"never-null", "same-sides"}
    assert [one for one in codes(with_function(function)) if one in doubts] == told


# ---- recursion
@pytest.mark.parametrize(
    ("before", "is_told"),
    [
        ("- log: { message: again }", True),
        ("- set: { a: 1 }", True),
        ("- if: input.n == 0\n    then: [{ return: {} }]", False),
        ("- if: input.n == 0\n    then: [{ throw: { status: 409 } }]", False),
        ("- return: {}", False),
    ],
)
def test_a_call_of_itself_is_told_where_nothing_comes_before_it(
    before: str, *, is_told: bool
) -> None:
    function = f"""
input: {{ n: integer }}
steps:
  {before}
  - call: {{ function: run, input: {{ n: "${{ input.n - 1 }}" }} }}
"""
    assert ("endless-recursion" in codes(with_function(function))) == is_told


def each(**bodies: str) -> Files:
    """Return a project of functions: the steps of each by its name."""
    return with_function("steps:\n  - call: { function: a }\n") | {
        f"functions/{name}.yaml": f"steps:\n  - {body}\n" for name, body in bodies.items()
    }


CALL = "call: {{ function: {} }}".format


@pytest.mark.parametrize(
    ("bodies", "told"),
    [
        ({"a": CALL("b"), "b": CALL("a")}, ["a", "b"]),
        ({"a": CALL("b"), "b": CALL("c"), "c": CALL("b")}, ["b", "c"]),
        ({"a": f"transaction: [{{ {CALL('b')} }}]", "b": CALL("a")}, ["a", "b"]),
        ({"a": f"parallel: {{ one: [{{ {CALL('b')} }}] }}", "b": CALL("a")}, ["a", "b"]),
        ({"a": CALL("b"), "b": f"if: now() > now()\n    then: [{{ {CALL('a')} }}]"}, []),
        ({"a": f"{CALL('guard')}\n  - {CALL('a')}", "guard": "throw: { status: 403 }"}, []),
        ({"a": f"{CALL('b')}\n  - {CALL('a')}", "b": "log: { message: b }"}, ["a"]),
    ],
)
def test_a_call_of_itself_is_followed_through_other_functions(
    bodies: dict[str, str], told: list[str]
) -> None:
    seen = [one for one in found(each(**bodies)) if one.code == "endless-recursion"]
    assert [one.place.file for one in seen] == [f"functions/{name}.yaml" for name in told]


# ---- what nothing uses
def test_env_is_used_by_settings_addons_steps_and_as_a_whole() -> None:
    assert "unused-env" in codes({"project.yaml": PROJECT})
    for text in ("env.GREETING", "env?.GREETING", "env['GREETING']", "env | json"):
        function = f'steps:\n  - log: {{ message: "${{ {text} }}" }}\n'
        files = {"project.yaml": PROJECT, "functions/a.yaml": function}
        told = [one.message for one in found(files)]
        assert "nothing reads the env variable 'GREETING'" not in told, text


def test_nothing_is_said_to_be_unused_while_a_file_cannot_be_read() -> None:
    files = with_function("steps: [") | {"functions/other.yaml": "steps:\n  - set: { a: 1 }\n"}
    assert not {"unused-env", "unused-function"} & {*codes(files)}


def test_a_function_is_used_by_a_test_a_call_and_middleware() -> None:
    called = with_function("steps:\n  - call: { function: other }\n")
    other = {"functions/other.yaml": "steps:\n  - log: { message: a }\n"}
    assert "unused-function" not in codes(called | other)
    assert "unused-function" in codes(with_function("steps:\n  - set: { a: 1 }\n") | other)
    del called["tests/double.yaml"]
    assert "unused-function" in codes(called | other)


def test_a_function_that_only_calls_itself_is_used_by_nobody() -> None:
    alone = "input: { n: integer }\nsteps:\n  - if: input.n > 0\n    then:\n"
    alone += "      - call: { function: alone, input: { n: '${ input.n - 1 }' } }\n"
    files = with_function("steps:\n  - return: {}\n") | {"functions/alone.yaml": alone}
    places = [one.place.file for one in found(files) if one.code == "unused-function"]
    assert places == ["functions/alone.yaml"]


# ---- date formats
@pytest.mark.parametrize(
    ("form", "hint"),
    [
        ("YYYY-MM-DD", "write '%Y-%m-%d'"), ("dd.MM.yyyy HH:mm", "write '%d.%m.%Y %H:%M'"),
        ("long", "letters begin with '%'"), ("%Y-%m-%d", ""), ("%d of MM", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["return", "where"])
def test_date_format_without_letters_is_told_with_the_letters(
    form: str, hint: str, place: str
) -> None:
    steps = f"steps:\n  - return: {{ value: \"${{ now() | date('{form}') }}\" }}\n"
    if place == "where":
        where = f"(born | date('{form}')) == '2026'"
        steps = f'steps:\n  - find: {{ table: dogs, where: "{where}" }}\n'
    dogs = "columns:\n  id: { type: integer, primaryKey: true }\n  born: { type: datetime }\n"
    files = with_function(steps) | {"tables/dogs.yaml": dogs}
    letters = [one for one in found(files) if one.code == "date-letters"]
    assert [one.severity for one in letters] == ["warning"] * bool(hint)
    assert all(str(one.hint).startswith(hint) for one in letters)


# ---- results that may be null
NOTES = "columns:\n  id: { type: integer, primaryKey: true }\n  text: { type: string }\n"
ONE = "  - find: { table: notes, one: true }\n    as: note\n"
RETURNED = "  - return: { value: '${ vars.note }' }\n"


@pytest.mark.parametrize(
    "steps",
    [
        ONE + RETURNED,
        ONE + "  - if: vars.note != null\n    then: [return: { value: 1 }]\n",
        ONE + "  - return: { value: '${ vars.note?.text }' }\n",
        ONE + "  - set: { other: '${ vars.note }' }\n  - return: { value: '${ vars.other }' }\n",
        ONE + '  - return: { value: "${ 1 if vars.note != null else null }" }\n',
        ONE + "  - if: vars.note != null\n    then: [return: { value: 1 }]\n"
        "  - return: { status: 204 }\n",
        "  - try: [return: { value: 1 }]\n    catch: [log: { message: a }]\n",
        "  - update: { table: notes, where: id == 1, one: true, data: { text: x } }\n"
        "    as: note\n" + RETURNED,
        "  - insert:\n      table: notes\n      data: { id: 1, text: a }\n"
        "      onConflict: { columns: [id], do: ignore }\n    as: note\n" + RETURNED,
        "  - cache: { key: a, for: 1m, steps: [{ find: { table: notes, one: true }, as: n }],"
        " value: '${ vars.n }' }\n    as: note\n" + RETURNED,
        "  - loop: { over: '[1, 2]', each: n, steps: [return: { value: '${ vars.n }' }] }\n",
    ],
)
def test_result_of_a_function_that_may_be_null_may_be_compared_with_null(steps: str) -> None:
    function = (
        "steps:\n  - call: { function: inner }\n    as: result\n"
        "  - if: vars.result == null\n    then: [throw: { status: 404 }]\n"
    )
    files = with_function(function) | {"tables/notes.yaml": NOTES}
    files["functions/inner.yaml"] = f"steps:\n{steps}"
    assert not {"never-null", "maybe-null"} & {*codes(files)}
