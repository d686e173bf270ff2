"""Write a contract as a client in TypeScript: one file without imports, for browsers and Node.

It passes `tsc --strict` (TypeScript 5 or newer, ES2022 and DOM).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from bbops.language.json_schema import Schema
from bbops.review.contract.clients import (
    EVENTS,
    FORM,
    JSON,
    Space,
    arrange,
    at,
    bad,
    core,
    good,
    headline,
    in_brackets,
    keeping,
    of_webhooks,
    schema_of,
    sent_events,
    takes_key,
    takes_token,
    topic_call,
    type_name,
    webhook_title,
)
from bbops.review.contract.contract import SHAPES, Contract, Operation, Parameter, Topic
from bbops.runtime.identities.kinds import PATH as SIGN_INS

_TAKEN: Final = frozenset((
    "AbortController", "AbortSignal", "ApiError", "AsyncGenerator", "Blob", "CallOptions",
    "Client", "Connection", "ConnectionOptions", "Error", "Errors", "FormData", "Given", "Headers",
    "ListenOptions", "Operation", "Promise", "Record", "Response", "SentEvent",
    "SessionContract", "SignInProvider", "TextDecoder", "TextEncoder", "Tokens", "TokenStore",
    "Topics", "Uint8Array", "WebhookError", "WebhookHeaders",
))  # fmt: skip
"""Names of types that the file, or the language, uses already."""
_SCALARS: Final = {
    "string": "string", "integer": "number", "number": "number", "boolean": "boolean",
    "null": "null",
}  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_RESERVED: Final = frozenset((
    "arguments", "await", "body", "break", "case", "catch", "class", "connection", "const",
    "continue", "debugger", "default", "delete", "do", "else", "enum", "eval", "export",
    "extends", "false", "finally", "for", "function", "headers", "if", "implements", "import",
    "in", "instanceof", "interface", "let", "new", "null", "options", "package", "private",
    "protected", "public", "query", "return", "static", "super", "switch", "this", "throw",
    "true", "try", "typeof", "var", "void", "while", "with", "yield",
))  # fmt: skip


def render_typescript(contract: Contract) -> str:
    """Return the text of a client."""
    names = {shape: f"{shape}Body" if shape in _TAKEN else shape for shape in contract.shapes}
    writer = _TypeScriptWriter(contract, names)
    return "\n".join(writer.file())


class _TypeScriptWriter:
    """Writes one contract; `names` are the names of the types of its shapes."""

    def __init__(self, contract: Contract, names: Mapping[str, str]) -> None:
        self.contract, self.names = contract, names
        self.keeping = keeping(contract)
        self.csrf = self.keeping.csrf_header
        self.taken = {*_TAKEN, *names.values()}
        self.own: dict[tuple[str, str], str] = {}
        self.providers = contract.session.providers if contract.session else ()

    def file(self) -> Iterator[str]:
        contract = self.contract
        yield f"// {headline(contract)}"
        yield f"// Contract {contract.digest[:12]}. Do not change it: write it again."
        yield "/* eslint-disable */"
        yield ""
        yield core("client.ts")
        if any(sent_events(contract, call) for call in contract.operations):
            yield core("streams.ts")
        yield f"const SERVER = {_text(contract.server)};"
        yield ""
        yield from self.session()
        for name, schema in sorted(contract.shapes.items()):
            yield f"export type {self.names[name]} = {self.type(schema)};"
            yield ""
        for operation in contract.operations:
            yield from self.types(operation)
        yield from self.errors()
        yield "/** Every call of the project, by name space. */"
        yield "export function client(connection: Connection) {"
        yield f"  return {self.space(arrange(contract.operations), '  ')};"
        yield "}"
        yield ""
        yield "export type Client = ReturnType<typeof client>;"
        yield ""
        yield from write_topics(contract, self.type, self.free, _key)
        yield from write_webhooks(contract, self.type, self.free, _key)

    def free(self, name: str) -> str:
        """Return an unused name for a type."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def session(self) -> Iterator[str]:
        kept = self.keeping
        said: dict[str, Any] = {
            "starts": kept.starts, "ends": kept.ends, "tokenField": kept.token_field,
            "refreshField": kept.refresh_field, "scheme": kept.scheme, "cookie": kept.cookie,
            "csrfHeader": kept.csrf_header,
        }  # fmt: skip
        yield "const SESSION: SessionContract = {"
        yield f"  refresh: {self.operation(kept.refresh) if kept.refresh else 'null'},"
        for name, value in said.items():
            yield f"  {name}: {json.dumps(value)},"
        yield "};"
        yield ""
        yield from self.sign_ins()

    def sign_ins(self) -> Iterator[str]:
        """Yield the addresses at which a browser signs in at other services."""
        names = [provider.removeprefix(SIGN_INS) for provider in self.providers]
        if not names:
            return
        yield f"export type SignInProvider = {' | '.join(map(_text, names))};"
        yield ""
        yield "/** The address that a browser opens to sign in; it comes back to `back`, a path. */"
        yield "export function signInAddress("
        yield '  connection: Connection, provider: SignInProvider, back = "/",'
        yield "): string {"
        path = f"`{SIGN_INS}${{provider}}?return=${{encodeURIComponent(back)}}`"
        yield f"  return connection.address({path});"
        yield "}"
        yield ""

    # ---- types
    def types(self, operation: Operation) -> Iterator[str]:
        if operation.body is not None:
            form = operation.body.content_type == FORM
            said = self.type(operation.body.schema, form=form)
            yield from self.named(operation, "Input", said)
        if query := at(operation, "query"):
            yield from self.named(operation, "Query", self.parameters(query))
        if events := sent_events(self.contract, operation):
            said = " | ".join(dict.fromkeys(map(self.type, events)))
            yield from self.named(operation, "Event", said)
        else:
            yield from self.named(operation, "Answer", self.answer(operation))
        yield ""

    def named(self, operation: Operation, role: str, said: str) -> Iterator[str]:
        """Name a type of a call; a shape with that name may be the whole type."""
        name = f"{type_name(operation)}{role}"
        while name in self.taken and name != said:
            name += "_"
        self.own[operation.id, role] = name
        self.taken.add(name)
        if name != said:
            yield f"export type {name} = {said};"

    def answer(self, operation: Operation) -> str:
        found = dict.fromkeys(self.one_answer(*result) for result in good(operation))
        return " | ".join(found) or "undefined"

    def one_answer(self, content_type: str, schema: Schema | None) -> str:
        if schema is None:
            return "undefined"
        if content_type == JSON:
            return self.type(schema)
        return "string" if content_type.startswith("text/") else "Blob"

    def errors(self) -> Iterator[str]:
        yield "/** What calls fail with: the project's answer by call and status. */"
        yield "export interface Errors {"
        for operation in self.contract.operations:
            each = "; ".join(f"{s}: {self.type(body)}" for s, body in bad(operation).items())
            yield f"  {_text(operation.id)}: {{ {each} }};"
        yield "}"
        yield ""

    def parameters(self, given: tuple[Parameter, ...]) -> str:
        fields = [
            f"{_key(parameter.name)}{'' if parameter.required else '?'}:"
            f" {self.type(schema_of(parameter))}"
            for parameter in given
        ]
        return f"{{ {'; '.join(fields)} }}"

    def type(self, schema: Schema, *, form: bool = False) -> str:
        """Return a schema as a type."""
        if "$ref" in schema:
            return self.names[schema["$ref"].removeprefix(SHAPES)]
        if "enum" in schema:
            return (
                " | ".join(dict.fromkeys(json.dumps(value) for value in schema["enum"])) or "never"
            )
        if "anyOf" in schema:
            return " | ".join(dict.fromkeys(self.type(part, form=form) for part in schema["anyOf"]))
        kinds = schema.get("type")
        if kinds is None:
            return "unknown"
        every = kinds if isinstance(kinds, list) else [kinds]
        return " | ".join(self.kind(kind, schema, form=form) for kind in every)

    def kind(self, kind: str, schema: Schema, *, form: bool) -> str:
        if kind == "array":
            return f"Array<{self.type(schema.get('items', {}), form=form)}>"
        if kind == "object":
            return self.object(schema, form=form)
        if form and schema.get("format") == "binary":
            return "Blob"
        return _SCALARS[kind]

    def object(self, schema: Schema, *, form: bool) -> str:
        required = schema.get("required", ())
        fields = [
            f"{_key(name)}{'' if name in required else '?'}: {self.type(inner, form=form)}"
            for name, inner in schema.get("properties", {}).items()
        ]
        rest = schema.get("additionalProperties")
        if not fields:
            return f"Record<string, {self.type(rest) if isinstance(rest, dict) else 'unknown'}>"
        return f"{{ {'; '.join(fields)} }}" + (" & Record<string, unknown>" if rest else "")

    # ---- calls
    def space(self, space: Space, indent: str) -> str:
        inner = indent + "  "
        lines = ["{"]
        for name, operation in space.calls.items():
            lines += [f"{inner}{line}" for line in _comment(operation)]
            lines.append(f"{inner}{_key(name)}: {self.call(operation, inner)},")
        for name, each in space.spaces.items():
            lines.append(f"{inner}{_key(name)}: {self.space(each, inner)},")
        return "\n".join([*lines, f"{indent}}}"])

    def call(self, operation: Operation, indent: str) -> str:
        body, own = operation.body, self.own
        path = at(operation, "path")
        variables = {parameter.name: _variable(parameter.name) for parameter in path}
        takes = [
            f"{variables[parameter.name]}: {self.type(parameter.schema)}" for parameter in path
        ]
        given = []
        if path:
            pairs = ", ".join(
                _pair(parameter.name, variables[parameter.name]) for parameter in path
            )
            given.append(f"params: {{ {pairs} }}")
        if body is not None:
            is_last = not any(
                parameter.required
                for parameter in operation.parameters
                if parameter.place != "path"
            )
            mark = "" if body.required or not is_last else "?"
            takes.append(f"body{mark}: {own[operation.id, 'Input']}")
            takes[-1] += "" if body.required or is_last else " | undefined"
            given.append("body")
        if query := at(operation, "query"):
            optional = not any(parameter.required for parameter in query)
            takes.append(f"query: {own[operation.id, 'Query']}{' = {}' if optional else ''}")
            given.append("query")
        if headers := at(operation, "header", self.csrf):
            optional = not any(header.required for header in headers)
            takes.append(f"headers: {self.parameters(headers)}{' = {}' if optional else ''}")
            given.append("headers")
        takes.append("options?: CallOptions")
        sent = f"{{ {', '.join(given)} }}" if given else "{}"
        if (operation.id, "Event") in own:
            event = own[operation.id, "Event"]
            return (
                f"({', '.join(takes)}): AsyncGenerator<{event}, void, undefined> =>\n"
                f"{indent}  stream<{event}>(connection, {self.operation(operation)}, {sent},"
                " options)"
            )
        return (
            f"({', '.join(takes)}): Promise<{own[operation.id, 'Answer']}> =>\n"
            f"{indent}  connection.call({self.operation(operation)}, {sent}, options)"
        )

    def operation(self, operation: Operation) -> str:
        said: dict[str, Any] = {
            "id": operation.id, "method": operation.method, "path": operation.path,
        }  # fmt: skip
        if operation.body is not None and operation.body.content_type == FORM:
            said["form"] = True
        if takes_token(operation):
            said["token"] = True
        if takes_key(operation):
            said["key"] = True
        if deep := in_brackets(operation):
            said["deep"] = deep
        types = {kind for kind, schema in good(operation) if schema is not None}
        if types and EVENTS not in types and JSON not in types:
            said["reads"] = "text" if all(type_.startswith("text/") for type_ in types) else "blob"
        return f"{{ {', '.join(f'{name}: {json.dumps(value)}' for name, value in said.items())} }}"


def _comment(operation: Operation) -> Iterator[str]:
    lines = [*operation.description.replace("*/", "* /").splitlines(), ""]
    about = [line for line in lines if line.strip()] + [f"{operation.method} {operation.path}"]
    if len(about) == 1:
        yield f"/** {about[0]} */"
        return
    yield "/**"
    yield from (f" * {line}" for line in about)
    yield " */"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) else _text(name)


def _variable(name: str) -> str:
    return f"{name}_" if name in _RESERVED else name


def _pair(name: str, variable: str) -> str:
    return name if name == variable else f"{_key(name)}: {variable}"


# ---- Write the topics and webhooks of a contract in TypeScript, for `typescript`

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
