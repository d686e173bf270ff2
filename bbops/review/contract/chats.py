"""The routes of agents that people can talk to: messages, decisions about calls, and chats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bbops.language.json_schema import Schema, or_null, shape_schema
from bbops.language.project import Project, Resource
from bbops.language.resources.agent import Agent
from bbops.review.contract.automatic import worded
from bbops.review.contract.contract import Answer, Body, Operation, Parameter
from bbops.review.contract.outputs import EVENTS, JSON, object_schema
from bbops.review.contract.sessions import operation_id, token_schemes
from bbops.runtime.agents.chats import MOST_CHARACTERS
from bbops.runtime.agents.values import PATH

TAG: Final = "agents"

_TEXT: Final[Schema] = {"type": "string"}
_TIME: Final[Schema] = {"type": "string", "format": "date-time"}
_CALLS: Final[Schema] = {
    "type": "array",
    "items": object_schema({"id": _TEXT, "tool": _TEXT, "arguments": {}, "expiresAt": _TIME}),
}
_STATES: Final = ("queued", "running", "waiting", "held", "done", "failed")
_REASONS: Final = {
    404: "there is no such agent, chat or call of this user",
    409: "the turn before is under way, or the call is decided",
    429: "too many messages, or the agent has reached one of its limits",
    502: "the agent cannot answer now",
    503: "the agent's jobs are held",
}


def chats(project: Project) -> Iterator[Operation]:
    """Yield the operations of each agent with a chat, by name."""
    taken = {operation_id(name) for name in project.endpoints}
    for _, agent in sorted(project.agents.items()):
        chat = agent.model.runs_on.chat
        if chat is None or not agent.model.enabled:
            continue
        found = [_say(project, agent), _show(project, agent)]
        if chat.authentication == "JWT":
            found.append(_decide(project, agent))
        yield from (operation for operation in found if operation.id not in taken)


def _say(project: Project, agent: Resource[Agent]) -> Operation:
    message = {"type": "string", "minLength": 1, "maxLength": MOST_CHARACTERS}
    schema: Schema = {
        "type": "object", "required": ["message"],
        "properties": {"message": message, "chat": {"type": ["string", "null"]}},
    }  # fmt: skip
    about = agent.model.description or f"The agent {agent.name}."
    text = (
        f"{about.strip()} Sends a message; without `chat`, a new chat begins. The answer is null,"
        " with 202, while calls wait for approval."
    )
    return _operation(project, agent, "say", "POST", "", text, schema, turn=True)


def _decide(project: Project, agent: Resource[Agent]) -> Operation:
    schema: Schema = object_schema({"approve": {"type": "boolean"}})
    text = "Approves or rejects a call of the user's chat, and returns the rest of its turn."
    return _operation(
        project, agent, "decide", "POST", "/approvals/{approval}", text, schema, turn=True
    )


def _show(project: Project, agent: Resource[Agent]) -> Operation:
    text = "The messages of a chat, and the state of its last turn."
    return _operation(project, agent, "show", "GET", "/chats/{chat}", text, None, turn=False)


def _operation(
    project: Project, agent: Resource[Agent], verb: str, method: str, path: str, text: str,
    schema: Schema | None, *, turn: bool,
) -> Operation:  # fmt: skip
    chat = agent.model.runs_on.chat
    is_open = chat is None or chat.authentication == "None"
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    limit = chat.rate_limit if chat is not None and verb == "say" else None
    return Operation(
        id=operation_id(f"{TAG}/{agent.name}/{verb}"), tag=TAG, method=method,
        path=f"{PATH}{agent.name}{path}", channel=None, description=text,
        security=() if is_open else token_schemes(project), is_open=is_open,
        rate_limit=limit.limit if limit else 0,
        parameters=tuple(Parameter(name, "path", required=True, schema=_TEXT) for name in names),
        body=None if schema is None else Body(JSON, required=True, schema=schema),
        answers=tuple(_answers(project, agent, is_open=is_open, turn=turn)),
        examples=(),
        rate_per=limit.per if limit else "1m", is_chat=True,
    )  # fmt: skip


def _answers(
    project: Project, agent: Resource[Agent], *, is_open: bool, turn: bool
) -> Iterator[Answer]:
    output = agent.model.output
    answer = _TEXT if output is None else shape_schema(output)
    if turn:
        schema = object_schema({"chat": _TEXT, "answer": or_null(answer), "approvals": _CALLS})
        events = {
            "chat": object_schema({"chat": _TEXT}), "text": object_schema({"text": _TEXT}),
            "tool": object_schema({"tool": _TEXT, "isError": {"type": "boolean"}}),
            "approval": _CALLS["items"], "done": schema,
        }  # fmt: skip
        yield Answer(200, JSON, schema)
        yield Answer(200, EVENTS, {"type": "array", "items": {"anyOf": [
            object_schema({"event": {"enum": [name]}, "data": data})
            for name, data in events.items()
        ]}})  # fmt: skip
        yield Answer(202, JSON, schema, ("calls wait for approval, or the turn takes longer",))
    else:
        message = object_schema({"role": {"enum": ["user", "agent"]}, "text": _TEXT, "at": _TIME})
        yield Answer(200, JSON, object_schema({
            "chat": _TEXT, "state": {"enum": [*_STATES]},
            "messages": {"type": "array", "items": message}, "approvals": _CALLS,
        }))  # fmt: skip
    statuses = [400, *(() if is_open else (401,)), 404, *((409, 429, 502, 503) if turn else ())]
    for status in statuses:
        found = worded(project, status, _REASONS.get(status, ""))
        reasons = (found.reason,) if found.reason else ()
        yield Answer(found.status, JSON, found.schema, reasons, found.headers)
