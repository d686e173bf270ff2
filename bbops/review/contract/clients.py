"""The structure of a client in any language: calls by name space, and how they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pkgutil import get_data
from typing import Final

from bbops.language.json_schema import Schema, any_of
from bbops.review.contract.contract import SHAPES, Contract, Operation, Parameter, SentEvent, Topic
from bbops.review.contract.sessions import operation_id
from bbops.runtime.values.shapes import EQUAL

FORM: Final = "multipart/form-data"
JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"
REALTIME: Final = "/~realtime"


@dataclass(frozen=True, slots=True)
class Space:
    """Calls with a common first name, and the spaces inside it; both by name."""

    calls: dict[str, Operation]
    spaces: dict[str, Space]


def arrange(operations: Iterable[Operation]) -> Space:
    """Return operations by the parts of their ids.

    If `notes.list` exists, the operation `notes` is `notes.call`.
    """
    root = Space({}, {})
    every = sorted(operations, key=lambda operation: operation.id)
    ids = {operation_.id for operation_ in every}
    for operation in every:
        *outer, name = operation.id.split(".")
        if any(other.startswith(f"{operation.id}.") for other in ids):
            outer, name = [*outer, name], "call"
            while ".".join([*outer, name]) in ids:
                name += "_"
        space = root
        for part in outer:
            space = space.spaces.setdefault(part, Space({}, {}))
        space.calls[name] = operation
    return root


def at(operation: Operation, place: str, csrf: str | None = None) -> tuple[Parameter, ...]:
    """Return the parameters in one place; path parameters in their order, and no CSRF header."""
    found = [
        parameter for parameter in operation.parameters
        if parameter.place == place and parameter.name.lower() != (csrf or "").lower()
    ]  # fmt: skip
    if place == "path":
        found.sort(key=lambda parameter: operation.path.index(f"{{{parameter.name}}}"))
    return tuple(found)


def good(operation: Operation) -> Iterator[tuple[str, Schema | None]]:
    """Yield content type and schema of each result; no schema for an empty one."""
    for answer in operation.answers:
        if answer.status is None or answer.status < 300:
            yield answer.content_type, answer.schema


def bad(operation: Operation) -> dict[int, Schema]:
    """Return the schemas of failures, by status."""
    found: dict[int, list[Schema]] = {}
    for answer in operation.answers:
        if answer.status is not None and answer.status >= 400:
            found.setdefault(answer.status, []).append(answer.schema or {})
    return {status: any_of(schemas) for status, schemas in sorted(found.items())}


def sent_events(contract: Contract, operation: Operation) -> list[Schema]:
    """Return the schemas of the events that a call streams; empty for other calls.

    An error is thrown, and an ordinary answer is the last event, `done`.
    """
    answers = [*good(operation)]
    if all(kind != EVENTS for kind, _ in answers):
        return []
    found: list[Schema] = []
    for kind, schema in answers:
        if kind == EVENTS:
            every = (schema or {})["items"]["anyOf"]
            found += [event for event in every if _event_name(contract, event) != "error"]
        else:
            fields = {"event": {"enum": ["done"]}, "data": schema or {}}
            found.append({"type": "object", "properties": fields, "required": [*fields]})
    return found


def _event_name(contract: Contract, schema: Schema) -> str:
    if "$ref" in schema:
        schema = contract.shapes[schema["$ref"].removeprefix(SHAPES)]
    name: str = schema["properties"]["event"]["enum"][0]
    return name


def in_brackets(operation: Operation) -> list[str]:
    """Return the parameters of a query whose fields are names in brackets."""
    return [parameter.name for parameter in at(operation, "query") if parameter.is_deep]


def schema_of(parameter: Parameter) -> Schema:
    """Return the schema of a parameter's argument: `eq` alone may replace a map that has it."""
    fields = parameter.schema.get("properties", {}) if parameter.is_deep else {}
    return any_of((fields[EQUAL], parameter.schema)) if EQUAL in fields else parameter.schema


def takes_token(operation: Operation) -> bool:
    """Return whether a session token authenticates the call."""
    return bool({"bearer", "session"} & set(operation.security))


def takes_key(operation: Operation) -> bool:
    """Return whether an API key authenticates the call."""
    return "apiKey" in operation.security


def type_name(operation: Operation) -> str:
    """Return the prefix of the names of an operation's types: `NotesList` for `notes.list`."""
    parts = operation.id.replace("_", ".").split(".")
    return "".join(part[:1].upper() + part[1:] for part in parts)


def topic_call(topic: Topic) -> Operation:
    """Return the call that reads a topic as server-sent events."""
    return Operation(
        f"topics.{topic.id}", "topics", "GET", f"{REALTIME}/{topic.address}", None,
        topic.description, topic.security, not topic.security, 0, topic.parameters, None, (), (),
    )  # fmt: skip


def of_webhooks(contract: Contract) -> dict[str, list[SentEvent]]:
    """Return the events of each webhook, by its name."""
    found: dict[str, list[SentEvent]] = {}
    for webhook in contract.webhooks:
        found.setdefault(operation_id(webhook.webhook), []).append(webhook)
    return found


def webhook_title(webhook: str) -> str:
    """Return the name of the type of a webhook's messages: `CustomersWebhook`."""
    return f"{webhook[:1].upper()}{webhook[1:]}Webhook"


def core(name: str) -> str:
    """Return the fixed part of a client: a file of the folder `cores`."""
    return (get_data(__package__, f"cores/{name}") or b"").decode()


@dataclass(frozen=True, slots=True)
class Keeping:
    """The calls and fields by which a client stays signed in.

    Attributes:
        starts: the ids of calls whose answers contain tokens.
        refresh: the call that gets a new token; None without such a call.
        ends: the id of the call that signs the user out.
        token_field: the field of those answers; likewise `refresh_field`.
        scheme: the word before a token.
        cookie: whether cookies carry the tokens.
        csrf_header: the header of changes by cookie.
    """

    starts: tuple[str, ...] = ()
    refresh: Operation | None = None
    ends: str | None = None
    token_field: str = "token"  # noqa: S105 - the name of a field
    refresh_field: str = "refreshToken"
    scheme: str = "Bearer"
    cookie: bool = False
    csrf_header: str | None = None


def keeping(contract: Contract) -> Keeping:
    """Return how clients of a project stay signed in."""
    session = contract.session
    if session is None:
        return Keeping()
    by_id = {operation.id: operation for operation in contract.operations}
    return Keeping(
        starts=tuple(call for call in (session.login, session.signup, session.refresh) if call),
        refresh=by_id.get(session.refresh or ""),
        ends=session.logout,
        token_field=session.token_field or Keeping().token_field,
        refresh_field=session.refresh_field or Keeping().refresh_field,
        scheme=session.header.split(": ", 1)[1].split(" ")[0],
        cookie=session.cookie is not None,
        csrf_header=session.csrf_header,
    )


def headline(contract: Contract) -> str:
    """Return the headline of the file."""
    return f"The client of '{contract.project}', written by bbops from its contract."
