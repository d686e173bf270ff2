"""Run what a test is about: an endpoint by a request, a function by itself."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

from bbops.base.errors import BbopsError
from bbops.compiler.testing.client import Client
from bbops.compiler.testing.outcome import Answer
from bbops.language.project import Route
from bbops.language.resources.test import Case, SentFile
from bbops.runtime.auth.api_keys import issue_key
from bbops.runtime.auth.tokens import Tokens
from bbops.runtime.flow.run import Function, Run, SentStream
from bbops.runtime.http.exchanges import STREAM, parse_events
from bbops.runtime.http.in_flight import ActiveRequest
from bbops.runtime.http.stream_answers import read_events
from bbops.runtime.values.failures import InvalidInput
from bbops.runtime.values.operators import kind
from bbops.runtime.values.shapes import refuse_unknown, spread

_BOUNDARY: Final = "bbops-test-0f3a6c9e5d1b4872"


async def ask_endpoint(
    client: Client, route: Route, case: Case, given: Mapping[str, Any]
) -> Answer:
    """Send the request of a case through everything that stands before the function.

    Args:
        given: the parts of the case as plain values: `auth`, `api_key`, `params` and so on.
    """
    path = "/".join(
        quote(text_of(given["params"][part[1:]]), safe="") if part.startswith(":") else part
        for part in route.path.split("/")
    )
    headers = {name: text_of(value) for name, value in given["headers"].items()}
    if given["auth"] is not None:
        headers["authorization"] = f"Bearer {issue(client.release.answering.tokens, given['auth'])}"
    if given["api_key"] is not None:
        headers["x-api-key"] = await issue_api_key(client, given["api_key"])
    query = urlencode(list(_pairs(given["query"])))
    body = given["input"] if case.input is not None else None
    raw = None
    if case.files:
        raw = _form(given["input"] or {}, case.files)
        headers["content-type"] = f"multipart/form-data; boundary={_BOUNDARY}"
    reply = await client.ask(
        route.method, f"{path}?{query}" if query else path, body, raw=raw, headers=headers
    )
    return Answer(reply.status, dict(reply.headers), read(reply.body, reply.headers))


def _form(fields: Mapping[str, Any], files: Mapping[str, SentFile]) -> bytes:
    """Return the body of a form: fields as texts, then files."""
    parts = [(f'name="{name}"', text_of(one).encode()) for name, one in fields.items()]
    for name, file in files.items():
        shown = file.name.replace('"', "%22")
        parts.append((f'name="{name}"; filename="{shown}"', content_of(file)))
    lines = [
        b"--%b\r\ncontent-disposition: form-data; %b\r\n\r\n%b\r\n"
        % (_BOUNDARY.encode(), said.encode(), content) for said, content in parts
    ]  # fmt: skip
    return b"".join([*lines, b"--%b--\r\n" % _BOUNDARY.encode()])


def content_of(file: SentFile) -> bytes:
    """Return what is in a file of a case that was checked."""
    return b64decode(file.base64) if file.base64 is not None else (file.text or "").encode()


async def ask_function(client: Client, function: Function, given: Mapping[str, Any]) -> Answer:
    """Run a function on the values of a case, typed by its shapes as those of a request are."""
    answering = client.release.answering
    scope: dict[str, Any] = {
        "method": "RUN", "path": function.name, "headers": [], "bbops": ActiveRequest(),
    }  # fmt: skip
    try:
        run = answering.run()
        fill(run, function, given)
        answer = await function.flow(run)
        if type(answer[1]) is SentStream:
            body = await read_events(answering, scope, answer[1])
            answer = answer[0], body, answer[2], answer[3]
        status, body, headers = answering.render(answer)
    except Exception as error:  # noqa: BLE001 - as a request would: every failure is an answer
        status, body, headers = answering.failure(error, scope)
    found = {name.decode(): value.decode("latin-1") for name, value in headers}
    return Answer(status, found, read(body, found))


_KEY: Final = "00000000-0000-4000-8000-000000000000"
"""The `job.key` and the id of the API key in tests of functions."""


def fill(run: Run, function: Function, given: Mapping[str, Any]) -> None:
    """Give a run the values of a case.

    Raises:
        InvalidInput: they do not fit the shapes.
    """
    run.vars, run.headers = {}, {name: text_of(one) for name, one in given["headers"].items()}
    run.auth = (
        {"email": None, "role": None, "claims": {}, **given["auth"]} if given["auth"] else None
    )
    if given["api_key"] is not None:
        run.api_key = {"id": _KEY, **_key_of(given["api_key"])}
    run.event, run.trigger = given["event"], given["trigger"]
    run.job = {"id": f"functions/{function.name}@test", "attempt": 1, "key": _KEY}
    errors: dict[str, list[str]] = {}
    texts: dict[str, list[str]] = {}
    for name, text in _pairs(given["query"]):
        texts.setdefault(name, []).append(text)
    run.query = function.from_query(texts, errors)
    if function.is_strict:
        refuse_unknown(texts, function.query_names, errors)
    run.params = {name: text_of(value) for name, value in given["params"].items()}
    if function.from_params is not None:
        run.params = function.from_params(run.params, errors)
    run.input = given["input"]
    if function.input is not None:
        run.input = function.input({} if run.input is None else run.input, "", errors)
    if errors:
        raise InvalidInput(errors)


def issue(tokens: Tokens | None, auth: Mapping[str, Any]) -> str:
    """Return a token for the user of a case.

    Raises:
        BbopsError: the project signs none.
    """
    if tokens is None:
        raise BbopsError("'auth' needs a signing key", hint="declare 'auth' in project.yaml")
    others = {name: auth.get(name) for name in ("email", "role", "claims")}
    return tokens.issue(auth["userId"], **others)


_RENAME: Final = "UPDATE _bbops_api_keys SET id = ? WHERE id = ?"


async def issue_api_key(client: Client, given: Mapping[str, Any]) -> str:
    """Store the API key of a case in its database, and return the key's text."""
    key = _key_of(given)
    host = replace(client.release.answering.host, database=client.database)
    made = await issue_key(host, key["name"], None, key["claims"], None)
    if "id" in key:
        await client.database.write(_RENAME, (key["id"], made["id"]))
    return made["key"]


def _key_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return `name` and `claims` of a case's API key, and its `id` if it is given.

    Raises:
        BbopsError: one of them has the wrong type.
    """
    found = {name: value for name, value in given.items() if value is not None}
    for name in ("id", "name"):
        if not isinstance(found.get(name, ""), str):
            raise BbopsError(f"'apiKey.{name}' needs a text, got {kind(found[name])}")
    if not isinstance(found.get("claims", {}), dict):
        raise BbopsError(f"'apiKey.claims' needs a map, got {kind(found['claims'])}")
    return {"name": "test", "claims": {}, **found}


def read(body: bytes, headers: Mapping[str, str]) -> Any:
    """Return the value of an answer: JSON, events, else its text; null without a body."""
    if not body:
        return None
    if headers.get("content-type", "").startswith("application/json"):
        return msgspec.json.decode(body)
    if headers.get("content-type", "").startswith(STREAM):
        return parse_events(body)
    return body.decode("utf-8", "replace")


def text_of(value: Any) -> str:
    """Return a parameter or header as a request carries it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode().strip('"')


def _pairs(query: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, text_of(one)) for name, one in spread(query)]
