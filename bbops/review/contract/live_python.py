"""Write the topics and webhooks of a contract in Python, for `python`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from bbops.language.json_schema import Schema
from bbops.review.contract.asyncapi import message_schema
from bbops.review.contract.clients import core, of_webhooks, topic_call, webhook_title
from bbops.review.contract.contract import Contract, SentEvent, Topic

Defined = Callable[[str, Schema], str]
"""Defines a type under an unused name, and returns that name."""

Word = Callable[[str], str]

_CUT: Final = "# ---- the rest"


def stream_core() -> str:
    """Return the code that reads streamed answers."""
    return _core("streams.py")


def write_topics(contract: Contract, define: Defined, snake: Word) -> Iterator[str]:
    """Yield the code that reads topics, and their classes.

    Args:
        contract: the contract of the topics.
        define: defines the type of a message.
        snake: writes a name in Python's style.
    """
    if not contract.topics:
        return
    yield _core("topics.py")
    types = {topic.id: _union([*_messages(topic, define)]) for topic in contract.topics}
    for is_async in (False, True):
        prefix = "Async" if is_async else ""
        yield f"class {prefix}Topics:"
        loop = "async for" if is_async else "for"
        yield f'    """Every topic: `{loop} message in topics.…()` reads one."""'
        yield ""
        yield f"    def __init__(self, connection: {prefix}Connection) -> None:"
        yield "        self._connection = connection"
        yield ""
        for topic in contract.topics:
            yield from _topic(topic, types[topic.id], snake, is_async=is_async)
        yield ""


def _messages(topic: Topic, define: Defined) -> Iterator[str]:
    for message in topic.messages:
        title = "".join(
            part[:1].upper() + part[1:] for part in _parts(f"{topic.id}.{message.event}")
        )
        schema = {
            "type": "object", "required": ["event", "payload"],
            "properties": {"event": {"enum": [message.event]}, "payload": message.schema},
        }  # fmt: skip
        yield define(f"{title}Message", schema)


def _topic(topic: Topic, said: str, snake: Word, *, is_async: bool) -> Iterator[str]:
    params = {parameter.name: f"{snake(parameter.name)}" for parameter in topic.parameters}
    takes = ["self", *(f"{param}: str" for param in params.values()), "*"]
    takes += [
        f"{callback}: Callable[[], None] | None = None" for callback in ("on_open", "on_reset")
    ]
    kind = "AsyncIterator" if is_async else "Iterator"
    about = topic.description.replace("\\", "\\\\").replace('"', "'").split()
    pairs = ", ".join(f"{json.dumps(name)}: {param}" for name, param in params.items())
    call = topic_call(topic)
    sent = ", ".join(json.dumps(part) for part in (call.id, call.method, call.path))
    sent += f", params={{{pairs}}}" + (", token=True" if call.security else "")
    function = "_listen_async" if is_async else "_listen"
    yield f"    def {snake(topic.id)}({', '.join(takes)}) -> {kind}[{said}]:"
    yield f'        """{" ".join([*about, f"({topic.address})"])}"""'
    yield f"        return {function}(self._connection, _Call({sent}), on_open, on_reset)"
    yield ""


def write_webhooks(contract: Contract, define: Defined, snake: Word) -> Iterator[str]:
    """Yield the code that verifies webhooks; same arguments as `write_topics`."""
    if not contract.webhooks:
        return
    yield _core("webhooks.py")
    types = {
        webhook: _union([
            define(f"{webhook_title(webhook)}{number or ''}", _sent(event))
            for number, event in enumerate(events)
        ])
        for webhook, events in of_webhooks(contract).items()
    }  # fmt: skip
    yield "class Webhooks:"
    yield '    """Verify what a webhook sends: the message, or a `WebhookError`."""'
    yield ""
    for webhook, said in types.items():
        takes = "secret: str | Sequence[str], headers: Mapping[str, str], body: bytes | str"
        yield "    @staticmethod"
        yield f"    def {snake(webhook)}({takes}) -> {said}:"
        yield f'        """Return a message of the webhook {webhook}."""'
        yield f"        found: {said} = _verified(secret, headers, body)"
        yield "        return found"
        yield ""
    yield ""


def _sent(one: SentEvent) -> Schema:
    found = message_schema(one)
    return {**found, "properties": {**found["properties"], "type": {"enum": [one.event]}}}


def _core(name: str) -> str:
    _, _, text = core(name).partition(_CUT)
    return text.partition("\n")[2].rstrip() + "\n\n"


def _union(types: Sequence[str]) -> str:
    return " | ".join(dict.fromkeys(types)) or "Any"


def _parts(name: str) -> list[str]:
    return name.replace("_", ".").replace("-", ".").split(".")
