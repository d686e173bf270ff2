"""Write the topics and webhooks of a contract in TypeScript, for `typescript`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from bbops.language.json_schema import Schema
from bbops.review.contract.clients import core, of_webhooks, topic_call, webhook_title
from bbops.review.contract.contract import Contract, Topic

Typed = Callable[[Schema], str]
Named = Callable[[str], str]
"""Returns an unused name for a type, as close as possible to the wanted one."""


def write_topics(contract: Contract, typed: Typed, named: Named, key: Named) -> Iterator[str]:
    """Yield the types of messages, and a function for each topic.

    Args:
        contract: the contract of the topics.
        typed: writes a schema as a type.
        named: finds the name of a type.
        key: writes the key of an object.
    """
    if not contract.topics:
        return
    yield core("topics.ts")
    names = {
        topic.id: named(f"{topic.id[:1].upper()}{topic.id[1:]}Message") for topic in contract.topics
    }
    for topic in contract.topics:
        yield f"export type {names[topic.id]} = {_message(topic, typed)};"
        yield ""
    yield "/** Every topic: `for await (const message of topics(connection).…)` reads it. */"
    yield "export function topics(connection: Connection) {"
    yield "  return {"
    for topic in contract.topics:
        yield from _topic(topic, names[topic.id], key)
    yield "  };"
    yield "}"
    yield ""
    yield "export type Topics = ReturnType<typeof topics>;"
    yield ""


def _message(topic: Topic, typed: Typed) -> str:
    each = [
        f"{{ event: {json.dumps(message.event)}; payload: {typed(message.schema)} }}"
        for message in topic.messages
    ]
    return " | ".join(each) or "never"


def _topic(topic: Topic, name: str, key: Named) -> Iterator[str]:
    about = " ".join(topic.description.replace("*/", "* /").split())
    params = [f"{parameter.name}_" for parameter in topic.parameters]
    takes = "".join(f"{variable}: string, " for variable in params)
    pairs = ", ".join(
        f"{key(parameter.name)}: {param}"
        for parameter, param in zip(topic.parameters, params, strict=True)
    )
    given = f"{{ params: {{ {pairs} }} }}" if pairs else "{}"
    call = topic_call(topic)
    said = {"id": call.id, "method": call.method, "path": call.path} | (
        {"token": True} if call.security else {}
    )
    operation = ", ".join(f"{field}: {json.dumps(value)}" for field, value in said.items())
    yield f"    /** {f'{about} ' if about else ''}{topic.address} */"
    yield f"    {key(topic.id)}: ({takes}options?: ListenOptions): AsyncGenerator<{name}> =>"
    yield f"      listen<{name}>(connection, {{ {operation} }}, {given}, options),"


def write_webhooks(contract: Contract, typed: Typed, named: Named, key: Named) -> Iterator[str]:
    """Yield the types of messages that the project sends, and a function for each webhook.

    Same arguments as `write_topics`.
    """
    if not contract.webhooks:
        return
    yield core("webhooks.ts")
    found = {
        webhook: (named(webhook_title(webhook)), events)
        for webhook, events in of_webhooks(contract).items()
    }
    for name, events in found.values():
        each = " | ".join(
            f"{{ type: {json.dumps(event.event)}; timestamp: string; data: {typed(event.schema)} }}"
            for event in events
        )
        yield f"export type {name} = {each};"
        yield ""
    yield "/** Verify what a webhook sends: the message, or a `WebhookError`. */"
    yield "export const webhooks = {"
    for webhook, (name, _) in found.items():
        takes = "secret: string | readonly string[], headers: WebhookHeaders, body: string"
        yield f"  {key(webhook)}: ({takes}): Promise<{name}> =>"
        yield f"    verified<{name}>(secret, headers, body),"
    yield "};"
    yield ""
