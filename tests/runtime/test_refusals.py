"""The reason of a refused request in the history: code, message and fields, without secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bbops.base.json_traffic import summarize_refusal
from bbops.compiler.testing.client import Client
from bbops.runtime.http.errors import MAX_FIELDS, MAX_MESSAGE
from bbops.runtime.http.responses import ANSWERED
from tests.conftest import Files, Serving, run, with_function

Refused = Callable[..., dict[str, Any]]
SHAPE = "input: { name: { type: text, maxLength: 3 }, age?: integer, password?: text }\n"


def project(steps: str, shape: str = SHAPE, more: str = "") -> Files:
    files = with_function(f"{shape}steps:\n{steps}")
    kept = (line for line in files["endpoints/run.yaml"].splitlines(keepends=True))
    names = {line.partition(":")[0] for line in more.splitlines()}
    lines = [line for line in kept if line.partition(":")[0] not in names]
    files["endpoints/run.yaml"] = "".join(lines) + more
    return files


@pytest.fixture
def refused(serving: Serving) -> Refused:
    """Return the line of one request in the history."""

    def send(files: Files, body: Any, path: str = "/run", **options: Any) -> dict[str, Any]:
        lines: list[tuple[Any, ...]] = []

        async def ask() -> None:
            async with serving(files, history=lines.append) as client:
                await tell(client)

        async def tell(client: Client) -> None:
            await client.ask("POST", path, body, **options)

        run(ask())
        (line,) = lines
        return dict(zip(ANSWERED, line, strict=False))

    return send


def test_invalid_input_has_its_fields_and_no_value(refused: Refused) -> None:
    line = refused(project("  - return: { value: 1 }\n"), {"name": "Zacharias", "age": "s3cret"})
    assert line["refusal"] == {
        "code": "invalidInput", "message": "the request has invalid values", "place": "",
        "fields": {"name": ["must have at most 3 characters"], "age": ["must be a whole number"]},
    }  # fmt: skip
    assert (line["status"], line["failure"]) == (400, "")


@pytest.mark.parametrize(
    ("path", "more", "status", "code", "message"),
    [
        ("/none", "", 404, "notFound", "no such route"),
        ("/run", "authentication: JWT\n", 401, "unauthorized", "a valid token is needed"),
    ],
)
def test_refusals_before_the_function_have_a_reason(
    refused: Refused, path: str, more: str, status: int, code: str, message: str
) -> None:
    line = refused(project("  - return: { value: 1 }\n", more=more), {"name": "Zoe"}, path)
    assert line["status"] == status
    assert (line["refusal"]["code"], line["refusal"]["message"]) == (code, message)


def test_a_throw_has_its_line(refused: Refused) -> None:
    line = refused(project("  - throw: { status: 403, message: Members only }\n"), {"name": "a"})
    assert line["refusal"] == {
        "code": "forbidden", "message": "Members only", "fields": {},
        "place": "functions/run.yaml:3",
    }  # fmt: skip
    assert line["failure"] == line["step"] == ""


def test_a_message_loses_the_values_that_the_history_hides(refused: Refused) -> None:
    shape = "input: { name: text, password: text, deep: { fields: { otp: integer } } }\n"
    text = "'${ input.name } has ${ input.password } and ${ input.deep.otp }'"
    files = project(f"  - throw: {{ status: 403, message: {text} }}\n", shape)
    line = refused(files, {"name": "ann", "password": "hunter2", "deep": {"otp": 4711}})
    assert line["refusal"]["message"] == "ann has *** and ***"


def test_a_message_about_too_many_values_is_left_out(refused: Refused) -> None:
    shape = "input: { rows: json, password: text }\n"
    files = project("  - throw: { status: 403, message: 'no ${ input.password }' }\n", shape)
    line = refused(files, {"rows": [0] * 9_000, "password": "hunter2"})
    assert line["refusal"]["message"] == "***"


def test_an_own_body_gives_its_message(refused: Refused) -> None:
    value = "{ error: { message: 'sold out: ${ input.password }', other: 1 } }"
    shape = "input: { password: text }\n"
    files = project(f"  - throw: {{ status: 409, value: {value} }}\n", shape)
    line = refused(files, {"password": "hunter2"})
    assert (line["refusal"]["code"], line["refusal"]["message"]) == ("conflict", "sold out: ***")


def test_a_failed_step_is_a_failure_and_not_a_refusal(refused: Refused) -> None:
    line = refused(project("  - return: { value: '${ 1 / (2 - 2) }' }\n"), {"name": "a"})
    assert line["status"] == 400
    assert line["step"] == "functions/run.yaml:3"
    assert line["failure"]
    assert line.get("refusal") is None


def test_a_response_of_the_function_itself_has_no_reason(refused: Refused) -> None:
    line = refused(project("  - return: { status: 404, value: { no: luck } }\n"), {"name": "a"})
    assert line["status"] == 404
    assert "refusal" not in line


def test_nothing_is_kept_without_a_history(refused: Refused) -> None:
    files = project("  - throw: { status: 403 }\n", more="history: off\n")
    with pytest.raises(ValueError, match="not enough values"):
        refused(files, {"name": "a"})


def test_long_reasons_are_cut(refused: Refused) -> None:
    fields = ", ".join(f"f{number}: text" for number in range(50))
    line = refused(project("  - return: { value: 1 }\n", f"input: {{ {fields} }}\n"), {})
    assert len(line["refusal"]["fields"]) == MAX_FIELDS
    text = "{{ status: 403, message: {} }}".format("x" * 2_000)
    line = refused(project(f"  - throw: {text}\n"), {"name": "a"})
    assert len(line["refusal"]["message"]) == MAX_MESSAGE


def test_a_summary_has_code_message_and_fields() -> None:
    refusal = {"code": "a", "message": "b", "fields": {"c": ["d", "e"], "f": ["g"]}, "place": ""}
    assert summarize_refusal(refusal) == "a: b (c: d, e; f: g)"
    assert summarize_refusal({"code": "a", "message": "", "fields": {}}) == "a"
    assert summarize_refusal(None) == ""
