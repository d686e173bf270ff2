"""What a contract says of one route: what it takes, who may ask, what it answers."""

from __future__ import annotations

from bbops.review.contract.contract import Operation
from bbops.review.contract.sessions import operation_id
from tests.conftest import PROJECT, sample
from tests.support.contracts import contract_of, operation_of

ONE = "- return: { value: 1 }\n"


def statuses(operation: Operation) -> list[int | None]:
    return [one.status for one in operation.answers]


def test_a_route_without_anything_fails_or_is_late_at_most() -> None:
    found = operation_of(f"steps:\n{ONE}", method="GET")
    assert (statuses(found), found.parameters, found.body) == ([200, 500, 503], (), None)


def test_a_body_may_be_wrong_or_too_large() -> None:
    found = operation_of(f"input: {{ name?: string }}\nsteps:\n{ONE}")
    assert statuses(found) == [200, 400, 413, 415, 500, 503]
    assert found.body is not None
    assert (found.body.required, found.body.content_type) == (False, "application/json")


def test_what_is_read_and_not_declared_is_text() -> None:
    text = "steps:\n- return: { value: \"${ headers['x-trace'] | default('') }\" }\n"
    found = operation_of(text, method="GET", path="/run/:id")
    assert [(one.name, one.place, one.required) for one in found.parameters] == [
        ("id", "path", True), ("x-trace", "header", False),
    ]  # fmt: skip


def test_a_message_that_is_thrown_says_when() -> None:
    text = f"steps:\n- if: now() == null\n  then: [ throw: {{ status: 418, message: Tea }} ]\n{ONE}"
    found = operation_of(text.replace("now() == null", "random(0, 1) == 0"))
    assert [one.reasons for one in found.answers if one.status == 418] == [("Tea",)]


def test_what_a_called_function_throws_is_told_too() -> None:
    endpoint = "method: GET\npath: /run\nfunction: run\nauthentication: None\n"
    files = sample(
        functions__run=f"steps:\n- call: {{ function: other }}\n{ONE}",
        functions__other="steps: [ throw: { status: 402 } ]", endpoints__run=endpoint,
    )  # fmt: skip
    (found,) = contract_of(files).operations
    assert 402 in statuses(found)


def test_null_is_an_answer_and_nothing_is_none() -> None:
    null = operation_of("steps:\n- return: { value: null }\n").answers[0]
    none = operation_of("steps:\n- return: { status: 204 }\n").answers[0]
    assert (null.schema, none.schema) == ({"type": "null"}, None)


def test_a_status_that_is_computed_comes_last() -> None:
    found = operation_of('steps:\n- return: { status: "${ random(200, 201) }", value: 1 }\n')
    assert statuses(found) == [500, 503, None]


def test_a_route_that_checks_the_token_itself_is_open_and_takes_it() -> None:
    found = operation_of(f"steps:\n- verifyJwt: {{ optional: true }}\n{ONE}")
    assert (found.security, found.is_open, 401 in statuses(found)) == (("bearer",), True, True)


def test_a_channel_says_who_may_ask_and_how_often() -> None:
    channel = "name: Machines\nbasePath: /m\nauthentication: API Key\nrateLimit: 5\n"
    endpoint = "channel: machines\nmethod: GET\npath: /run\nfunction: run\n"
    files = sample(functions__run=f"steps:\n{ONE}", endpoints__run=endpoint)
    (found,) = contract_of(files | {"channels/machines.yaml": channel}).operations
    assert (found.security, found.is_open) == (("apiKey", "apiKeyInQuery"), False)
    assert (found.tag, found.path, found.rate_limit) == ("machines", "/m/run", 5)
    assert statuses(found) == [200, 401, 429, 500, 503]


def test_the_projects_own_words_of_an_error_are_its_shape() -> None:
    words = "errors: { serverError: { status: 599, value: { oops: '${ error.code }' } } }\n"
    endpoint = "method: GET\npath: /run\nfunction: run\nauthentication: None\n"
    files = sample(functions__run=f"steps:\n{ONE}", endpoints__run=endpoint)
    found = contract_of(files | {"project.yaml": PROJECT + words})
    (answer,) = [one for one in found.operations[0].answers if one.status == 599]
    assert answer.schema == {"$ref": "#/shapes/ServerError"}
    assert found.shapes["ServerError"]["properties"] == {"oops": {"type": "string"}}


def test_ids_of_operations_are_those_of_files() -> None:
    names = ["notes/add-tag", "notes/add-2", "notes/add2", "notes", "a-b/c", "a/b-c"]
    ids = [operation_id(name) for name in names]
    assert ids == ["notes.addTag", "notes.add_2", "notes.add2", "notes", "aB.c", "a.bC"]
