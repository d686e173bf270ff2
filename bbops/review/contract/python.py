"""Write a contract as a client in Python: one module that needs httpx, for threads and asyncio.

It passes `mypy --strict` and runs on Python 3.11 or newer.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bbops.language.json_schema import Schema
from bbops.review.contract.clients import (
    FORM,
    JSON,
    Space,
    arrange,
    at,
    core,
    good,
    headline,
    in_brackets,
    keeping,
    schema_of,
    sent_events,
    takes_key,
    takes_token,
    type_name,
)
from bbops.review.contract.contract import SHAPES, Contract, Operation
from bbops.review.contract.live_python import stream_core, write_topics, write_webhooks

_CUT: Final = "# ---- the rest"
_TAKEN: Final = frozenset((
    "Any", "ApiError", "AsyncClient", "AsyncConnection", "AsyncIterator", "AsyncTopics", "Callable",
    "Client", "Conflict", "Connection", "Iterator", "Topics", "WebhookError", "Webhooks",
    "Forbidden", "IO", "InvalidRequest", "Literal", "Mapping", "NotFound", "NotRequired",
    "RateLimited", "Self", "Sequence", "ServerError", "Tokens", "TypedDict", "Unauthorized",
    "Upload", "None", "True", "False",
))  # fmt: skip
_SCALARS: Final = {
    "string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None",
}  # fmt: skip
_OURS: Final = frozenset(("self", "body", "str", "int", "float", "bool"))
"""Names that a method, or its arguments, cannot have."""
_WORD: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


def render_python(contract: Contract) -> str:
    """Return the text of a client."""
    return "\n".join(_PythonWriter(contract).file())


@dataclass(frozen=True, slots=True)
class _Argument:
    """An argument of a method: its name in the contract and here, its type and its default."""

    name: str
    variable: str
    type: str
    is_required: bool


class _PythonWriter:
    """Writes one contract; `lines` define the types that it needs, `owned` are those for calls."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.taken = set(_TAKEN)
        self.shapes = {name: self.free(name) for name in contract.shapes}
        self.lines: list[str] = []
        self.keeping = keeping(contract)
        self.csrf = self.keeping.csrf_header
        self.owned: dict[str, dict[str, str]] = {}
        self.taking: dict[str, tuple[list[_Argument], list[_Argument], list[_Argument]]] = {}

    def file(self) -> Iterator[str]:
        contract = self.contract
        head = f'"""{headline(contract)}\n\nContract {contract.digest[:12]}. Do not change it:'
        text, _, _ = core("client.py").partition(_CUT)
        _, _, text = text.partition("\n\n")
        text = text.replace("IO, Any, Self", "IO, Any, Literal, NotRequired, Self, TypedDict")
        text = text.replace("Iterator, Mapping", "Iterator, Mapping, Sequence", 1)
        text = text.replace('base_url: str = ""', f"base_url: str = {_text(contract.server)}")
        for name, schema in sorted(contract.shapes.items()):
            self.define(self.shapes[name], schema)
        root = arrange(contract.operations)
        spaces = [*self.spaces(root, "", is_async=False), *self.spaces(root, "", is_async=True)]
        live = [
            *write_topics(contract, self.define_free, _snake),
            *write_webhooks(contract, self.define_free, _snake),
        ]
        for name in _modules(contract):
            text = text.replace("import threading\n", f"import {name}\nimport threading\n", 1)
        if contract.topics:
            text = text.replace("import AsyncIterator,", "import AsyncIterator, Callable,", 1)
            text = text.replace("import dataclass, field", "import dataclass, field, replace", 1)
        yield f'{head} write it again."""\n'
        yield "# ruff: noqa"
        yield text.rstrip()
        yield "\n"
        if _streams(contract):
            yield stream_core()
        yield from self.session()
        yield from self.lines
        yield from spaces
        yield from live

    def session(self) -> Iterator[str]:
        kept = self.keeping
        said: dict[str, Any] = {
            "starts": kept.starts, "refresh": None, "ends": kept.ends,
            "token_field": kept.token_field, "refresh_field": kept.refresh_field,
            "scheme": kept.scheme, "cookie": kept.cookie, "csrf_header": kept.csrf_header,
        }  # fmt: skip
        yield "_SESSION = _Session("
        for name, value in said.items():
            call = kept.refresh if name == "refresh" else None
            yield f"    {name}={self.operation(call, {}) if call else repr(value)},"
        yield ")\n"

    # ---- types
    def free(self, name: str) -> str:
        """Return an unused name for a type."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def alias(self, operation: Operation, role: str, said: str) -> str:
        """Return the name of a type of a call; defines it if it is more than a name."""
        if said in self.taken or said in _SCALARS.values():
            return said
        name = self.free(f"{type_name(operation)}{role}")
        self.lines += [f"{name} = {said}", ""]
        return name

    def define_free(self, name: str, schema: Schema) -> str:
        """Define a TypedDict under an unused name. Returns the name."""
        return self.define(self.free(name), schema)

    def define(self, name: str, schema: Schema, *, form: bool = False) -> str:
        """Define a TypedDict. Returns its name."""
        required = schema.get("required", ())
        fields = {
            key: self.type(inner, f"{name}{_pascal(key)}", form=form)
            for key, inner in schema.get("properties", {}).items()
        }
        typed = {
            key: said if key in required else f"NotRequired[{said}]" for key, said in fields.items()
        }
        if all(key.isidentifier() and not keyword.iskeyword(key) for key in typed):
            self.lines += [f"class {name}(TypedDict):"]
            self.lines += [f"    {key}: {said}" for key, said in typed.items()]
        else:
            pairs = ", ".join(f"{_text(key)}: {_text(said)}" for key, said in typed.items())
            self.lines += [f"{name} = TypedDict({_text(name)}, {{{pairs}}})"]
        self.lines += ["", ""]
        return name

    def type(self, schema: Schema, hint: str, *, form: bool = False, many: str = "list") -> str:
        """Return a schema as a type; maps inside it are defined with names like `hint`."""
        if "$ref" in schema:
            return self.shapes[schema["$ref"].removeprefix(SHAPES)]
        if "enum" in schema:
            return _literal(schema["enum"])
        if "anyOf" in schema:
            every = [self.type(part, hint, form=form, many=many) for part in schema["anyOf"]]
            return _union(every)
        kinds = schema.get("type")
        if kinds is None:
            return "Any"
        each = kinds if isinstance(kinds, list) else [kinds]
        return _union([self.kind(kind, schema, hint, form=form, many=many) for kind in each])

    def kind(self, kind: str, schema: Schema, hint: str, *, form: bool, many: str) -> str:
        if kind == "array":
            return f"{many}[{self.type(schema.get('items', {}), f'{hint}Item', form=form)}]"
        if kind == "object":
            if schema.get("properties"):
                return self.define(self.free(hint), schema, form=form)
            rest = schema.get("additionalProperties")
            value = self.type(rest, f"{hint}Value") if isinstance(rest, dict) else "Any"
            return f"dict[str, {value}]"
        if form and schema.get("format") == "binary":
            return "Upload"
        return _SCALARS[kind]

    def answer(self, operation: Operation) -> str:
        hint = f"{type_name(operation)}Answer"
        return _union([self.one_answer(*result, hint) for result in good(operation)] or ["None"])

    def one_answer(self, content_type: str, schema: Schema | None, hint: str) -> str:
        if schema is None:
            return "None"
        if content_type == JSON:
            return self.type(schema, hint)
        return "str" if content_type.startswith("text/") else "bytes"

    # ---- calls
    def spaces(self, space: Space, name: str, *, is_async: bool) -> Iterator[str]:
        """Yield the classes of a space, inner ones first."""
        prefix = "Async" if is_async else ""
        title = f"_{prefix}{name}" if name else f"{prefix}Client"
        for inner, each in space.spaces.items():
            yield from self.spaces(each, f"{name}{_pascal(inner)}", is_async=is_async)
        yield f"class {title}:"
        yield '    """Every call of the project, by name space."""\n' if not name else ""
        yield f"    def __init__(self, connection: {prefix}Connection) -> None:"
        yield "        self._connection = connection"
        for inner in space.spaces:
            yield f"        self.{_snake(inner)} = _{prefix}{name}{_pascal(inner)}(connection)"
        yield ""
        for method, operation in space.calls.items():
            yield from self.method(_snake(method), operation, is_async=is_async)
        yield ""

    def method(self, name: str, operation: Operation, *, is_async: bool) -> Iterator[str]:
        path, query, headers = self.arguments(operation)
        body, own = operation.body, self.own(operation)
        takes = ["self", *(f"{argument.variable}: {argument.type}" for argument in path)]
        if body is not None:
            takes.append(f"body: {own['Input']}" + ("" if body.required else " | None = None"))
        if query or headers:
            takes.append("*")
            takes += [
                f"{header.variable}: {header.type}" if header.is_required
                else f"{header.variable}: {header.type} | None = None"
                for header in sorted((*query, *headers), key=lambda one: not one.is_required)
            ]  # fmt: skip
        given = {
            "params": _pairs(path), "query": _pairs(query), "headers": _pairs(headers),
            "body": "body" if body is not None else "",
        }  # fmt: skip
        if "Event" in own:
            kind, function = (
                ("AsyncIterator", "_stream_async") if is_async else ("Iterator", "_stream")
            )
            yield f"    def {name}({', '.join(takes)}) -> {kind}[{own['Event']}]:"
            yield from _docstring(operation)
            call = self.operation(operation, given)
            yield f"        return {function}(self._connection, {call})"
            yield ""
            return
        defined = f"{'async ' if is_async else ''}def {name}({', '.join(takes)})"
        yield f"    {defined} -> {own['Answer']}:"
        yield from _docstring(operation)
        call = self.operation(operation, given)
        sent = f"{'await ' if is_async else ''}self._connection.call({call})"
        if own["Answer"] in {"None", "Any"}:
            yield f"        {sent}" if own["Answer"] == "None" else f"        return {sent}"
        else:
            yield f"        answer: {own['Answer']} = {sent}"
            yield "        return answer"
        yield ""

    def own(self, operation: Operation) -> dict[str, str]:
        """Return the names of an operation's types; later calls return the same names."""
        if operation.id not in self.owned:
            name, body = type_name(operation), operation.body
            if events := sent_events(self.contract, operation):
                each = [self.type(event, f"{name}Event") for event in events]
                found = {"Event": self.alias(operation, "Event", _union(each))}
            else:
                found = {"Answer": self.alias(operation, "Answer", self.answer(operation))}
            if body is not None:
                form = body.content_type == FORM
                said = self.type(body.schema, f"{name}Input", form=form)
                found["Input"] = self.alias(operation, "Input", said)
            self.owned[operation.id] = found
        return self.owned[operation.id]

    def arguments(
        self, operation: Operation
    ) -> tuple[list[_Argument], list[_Argument], list[_Argument]]:  # fmt: skip
        """Return a call's arguments in path, query and headers; later calls return the same."""
        if operation.id in self.taking:
            return self.taking[operation.id]
        taken = set(_OURS)
        found: list[list[_Argument]] = []
        for place in ("path", "query", "header"):
            each = []
            for parameter in at(operation, place, self.csrf):
                variable = _snake(parameter.name)
                while variable in taken:
                    variable += "_"
                taken.add(variable)
                hint = f"{type_name(operation)}{_pascal(parameter.name)}"
                said = self.type(schema_of(parameter), hint, many="Sequence")
                each.append(_Argument(parameter.name, variable, said, parameter.required))
            found.append(each)
        self.taking[operation.id] = found[0], found[1], found[2]
        return self.taking[operation.id]

    def operation(self, operation: Operation, given: Mapping[str, str]) -> str:
        said = [_text(part) for part in (operation.id, operation.method, operation.path)]
        said += [f"{name}={value}" for name, value in given.items() if value]
        body = operation.body
        flags = {
            "form": body is not None and body.content_type == FORM,
            "token": takes_token(operation), "key": takes_key(operation),
            "raw": _is_raw(operation),
        }  # fmt: skip
        if deep := in_brackets(operation):
            said.append(f"deep=({', '.join(map(_text, deep))},)")
        said += [f"{name}=True" for name, is_so in flags.items() if is_so]
        return f"_Call({', '.join(said)})"


def _modules(contract: Contract) -> Iterator[str]:
    """Yield the imports of a client, each with its use."""
    found: list[str] = ["json"] if _streams(contract) else []
    found += ("json", "random", "time") if contract.topics else ()
    if contract.webhooks:
        found += ("base64", "binascii", "hashlib", "hmac", "json", "time")
    yield from dict.fromkeys(found)


def _streams(contract: Contract) -> bool:
    return any(sent_events(contract, operation) for operation in contract.operations)


def _is_raw(operation: Operation) -> bool:
    """Return whether every successful answer is bytes, whatever its content type."""
    types = {kind for kind, schema in good(operation) if schema is not None}
    return bool(types) and not any(type_ == JSON or type_.startswith("text/") for type_ in types)


def _pairs(arguments: Sequence[_Argument]) -> str:
    pairs = ", ".join(f"{_text(argument.name)}: {argument.variable}" for argument in arguments)
    return f"{{{pairs}}}" if pairs else ""


def _docstring(operation: Operation) -> Iterator[str]:
    text = operation.description.replace("\\", "\\\\").replace('"""', "'''").strip()
    about = f"{operation.method} {operation.path}"
    lines = [line.rstrip() for line in text.splitlines()] or [f"{about}."]
    if len(lines) == 1 and not lines[0].endswith('"'):
        yield f'        """{lines[0]}"""'
        return
    yield f'        """{lines[0]}'
    yield from (f"        {line}" if line else "" for line in lines[1:])
    yield '        """'


def _literal(values: Sequence[Any]) -> str:
    texts = [value for value in values if not isinstance(value, float)]
    if len(texts) < len(values):  # a Literal does not accept a float
        return "float"
    return f"Literal[{', '.join(dict.fromkeys(repr(text) for text in texts))}]"


def _union(types: Sequence[str]) -> str:
    unique = [*dict.fromkeys(types)]
    return "Any" if "Any" in unique else " | ".join(unique)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _snake(name: str) -> str:
    found = "_".join(part for part in _WORD.split(name) if part).lower()
    found = f"_{found}" if found[:1].isdigit() or not found else found
    return f"{found}_" if keyword.iskeyword(found) or found in _OURS else found


def _pascal(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))
