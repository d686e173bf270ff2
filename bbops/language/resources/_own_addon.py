"""Addons of a project's own: any API, with its settings in one file and each step in another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, StringConstraints, model_validator
from pydantic import Field as PydanticField
from pydantic_core import PydanticCustomError

from bbops.base.model import Model
from bbops.language.addons._base import Setting
from bbops.language.expressions.types import ANY, Type
from bbops.language.resources._kind import Kind
from bbops.language.shape import Field, Shape, shape_spec, shape_types
from bbops.language.steps._flow import OwnAction
from bbops.runtime.steps.http_call import OURS

SettingName = Annotated[str, StringConstraints(pattern=r"^[a-z][A-Za-z0-9]{0,62}$")]
"""The name of a key of `config`."""
HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,100}$")]
Address = Annotated[
    str, StringConstraints(pattern=r"^https?://[^/?#\s@$]+[^?#\s$]*$", max_length=500)
]
Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
Short = Annotated[str, StringConstraints(min_length=1, max_length=500)]
ENDPOINT = "endpoint"
"""The setting that replaces `server`."""
SECONDS = 30.0
_HOLE = re.compile(r"\{([^{}]*)\}")
_NAME_IN_PATH = re.compile(r"[A-Za-z0-9_.~-]{1,100}").fullmatch
_MUTATES = re.compile(r"\bmutation\b").search
"""Detects a mutation in a GraphQL text; fragments may come before it."""
_READS = frozenset({"GET", "HEAD", "DELETE"})
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,1000}").fullmatch


def check_path(path: str) -> str:
    """Return the path of a request; refuse a URL with other parts."""
    plain = _HOLE.sub("x", path)
    is_odd = "${" in path or re.search(r"[^\x21-\x7e]|[?#{}\\]", plain) is not None
    is_odd = is_odd or not all(map(_NAME_IN_PATH, _HOLE.findall(path)))
    if not path.startswith("/") or is_odd or {".", ".."} & {*plain.split("/")}:
        message = "expected a path such as /v1/refunds/{id}, got '{path}'"
        hint = "parameters of the query stand under 'in': '{ limit: query }'"
        raise PydanticCustomError("field", message, {"path": path[:80], "hint": hint})
    return path


def check_header(text: str) -> str:
    """Return the value of a header that is kept in git."""
    if "${" in text or not _HEADER_VALUE(text):
        hint = "a key belongs under 'auth', such as '{ header: { X-Key: apiKey } }'"
        message = "a header here is plain text, without expressions"
        raise PydanticCustomError("field", message, {"hint": hint})
    return text


def check_sent_header(name: str) -> str:
    """Return the name of a header that a step may set."""
    if name.lower() in OURS:
        raise PydanticCustomError("field", "header '{name}' cannot be set", {"name": name})
    return name


def check_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return headers; refuse the headers that the connection itself sets."""
    for name in headers:
        check_sent_header(name)
    return headers


class ClientCredentials(Model):
    """The address of the token server, and the settings that are exchanged for a token."""

    token_url: Annotated[str, StringConstraints(pattern=r"^https?://[^?#\s@$]+$", max_length=500)]
    client_id: SettingName = "clientId"
    client_secret: SettingName = "clientSecret"  # noqa: S105 - the name of a setting
    scopes: list[Short] = []


class AddonAuth(Model):
    """The authentication at the server: one method, by the names of settings."""

    bearer: SettingName | None = None
    basic: Annotated[list[SettingName], PydanticField(min_length=2, max_length=2)] | None = None
    header: Annotated[dict[HeaderName, SettingName], PydanticField(min_length=1)] | None = None
    query: Annotated[dict[Short, SettingName], PydanticField(min_length=1)] | None = None
    client_credentials: ClientCredentials | None = None

    @model_validator(mode="after")
    def check_one(self) -> Self:
        """Refuse an authentication without a method, or with two."""
        if len(self.model_fields_set) != 1:
            ways = "bearer, basic, header, query or clientCredentials"
            raise PydanticCustomError("field", "'auth' is one of {ways}", {"ways": ways})
        for name in self.header or ():
            check_headers({name: ""})
        return self

    @property
    def settings(self) -> tuple[str, ...]:
        """The required keys of `config`, which hold secrets."""
        own = self.client_credentials
        return tuple(dict.fromkeys([
            *([self.bearer] if self.bearer else ()), *(self.basic or ()),
            *(self.header or {}).values(), *(self.query or {}).values(),
            *([own.client_id, own.client_secret] if own else ()),
        ]))  # fmt: skip


class Source(Model):
    """The source of the files: `bbops addon add` writes it, and reads it again."""

    openapi: Short | None = None
    mcp: Short | None = None
    git: Short | None = None
    commit: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40,64}$")] | None = None
    path: Short | None = None
    signed_by: Short | None = None
    operation: Short | None = None
    digest: Digest | None = None
    version: Short | None = None


class OwnAddon(Kind):
    """Any API as an addon: its address, and its authentication."""

    folder: ClassVar[str] = "addons"

    description: str | None = None
    enabled: bool = False
    server: Address | None = None
    mcp: Address | None = None
    auth: AddonAuth | None = None
    headers: Annotated[
        dict[HeaderName, Annotated[str, AfterValidator(check_header)]],
        AfterValidator(check_headers),
    ] = {}
    source: Source | None = None
    config: dict[SettingName, Setting] | None = None

    @classmethod
    def id(cls) -> str:
        return "addon"

    @property
    def is_own(self) -> bool:
        """Whether it has an address, and is not just a misspelt name of the catalog."""
        return self.server is not None or self.mcp is not None

    @property
    def address(self) -> str:
        """The address, unless `config.endpoint` overrides it."""
        return self.mcp or self.server or ""

    @property
    def settings(self) -> Mapping[str, str]:
        """The values of `config`."""
        return self.config or {}

    @property
    def secrets(self) -> frozenset[str]:
        """The keys of `config` that hold secrets."""
        return frozenset(self.auth.settings if self.auth else ())

    def link(self, steps: Mapping[str, OwnStep]) -> dict[str, Any]:
        """Return the description of the addon for the runtime, as plain data."""
        auth = self.auth.model_dump(by_alias=True, exclude_none=True) if self.auth else {}
        linked = {name: step.link() for name, step in steps.items()}
        return {
            "address": self.address, "is_mcp": self.mcp is not None, "auth": auth,
            "headers": dict(self.headers), "steps": linked,
        }  # fmt: skip


Where = Literal["path", "query", "header", "body", "whole"]


class Place(Model):
    """The place of a parameter in the request, under another name; or the setting as its source."""

    path: Short | None = None
    query: Short | None = None
    header: Annotated[HeaderName, AfterValidator(check_sent_header)] | None = None
    body: Short | None = None
    whole: Literal[True] | None = None
    setting: SettingName | None = None

    @property
    def where(self) -> tuple[Where, str] | None:
        """The part of the request and the name there; None if only the setting is given."""
        for part in ("path", "query", "header", "body"):
            if (name := getattr(self, part)) is not None:
                return part, name
        return ("whole", "") if self.whole else None


def read_place(data: Any) -> Any:
    """Read `query` as `{query: <the parameter's own name>}`; the name is filled in later."""
    return {data: _SAME} if isinstance(data, str) and data in _WHERE else data


_SAME = "-"
_WHERE = ("path", "query", "header", "body")


_OF_A_FIELD = frozenset(field.alias or name for name, field in Field.model_fields.items())


def read_gives(data: Any) -> Any:
    """Read `{ id: string, amount: integer }` as a map of these; `{ type: string }` is one field."""
    is_field = isinstance(data, dict) and "type" in data and data.keys() <= _OF_A_FIELD
    if isinstance(data, dict) and not is_field:
        return {"type": "object", "fields": data}
    return data


class Request(Model):
    """The request of a step: a method and a path, or a GraphQL query."""

    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] | None = None
    path: Annotated[str, AfterValidator(check_path)] | None = None
    encoding: Literal["json", "form"] = "json"
    lists: Literal["repeat", "index", "comma"] = "repeat"
    idempotency_key: Annotated[HeaderName, AfterValidator(check_sent_header)] | None = None
    repeat: Literal["safe"] | None = None
    graphql: Annotated[str, StringConstraints(min_length=2, max_length=50_000)] | None = None

    @model_validator(mode="after")
    def check_kind(self) -> Self:
        """Refuse a request without a method or query, and keys that a query cannot use."""
        if self.graphql is None:
            if self.method is None or self.path is None:
                message = "a request has 'method' and 'path', or 'graphql'"
                raise PydanticCustomError("field", message, {})
            return self
        for key in ("method", "encoding", "lists"):
            if key in self.model_fields_set:
                message = "'graphql' is a POST of JSON, so '{key}' has no meaning beside it"
                raise PydanticCustomError("field", message, {"key": key})
        return self

    @property
    def verb(self) -> str:
        """The method of HTTP."""
        return self.method or "POST"

    @property
    def holes(self) -> tuple[str, ...]:
        """The names in the path."""
        return tuple(_HOLE.findall(self.path or ""))

    @property
    def repeats(self) -> Literal["safe", "key", "no"]:
        """Whether the request may be repeated, see decision 0080."""
        if self.idempotency_key:
            return "key"
        is_query = self.graphql is not None and not _MUTATES(self.graphql)
        is_safe = self.repeat == "safe" or self.verb not in {"POST", "PATCH"} or is_query
        return "safe" if is_safe else "no"

    @property
    def writes(self) -> bool:
        """Whether it changes data, judging by its method."""
        if self.graphql is not None:
            return _MUTATES(self.graphql) is not None
        return self.verb not in {"GET", "HEAD"} and self.repeat != "safe"


class Tool(Model):
    """A tool of an MCP server, and the digest of its definition when it was chosen."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_./-]{1,128}$")]
    digest: Digest


class OwnStep(Kind):
    """A step of an addon of the project's own: its request, parameters and result."""

    folder: ClassVar[str] = "addons"

    title: Annotated[str, StringConstraints(min_length=1, max_length=120)] | None = None
    description: str | None = None
    request: Request | None = None
    tool: Tool | None = None
    parameters: Shape = {}
    in_: dict[str, Annotated[Place, BeforeValidator(read_place)] | Literal["whole"]] = (
        PydanticField(default={}, alias="in")
    )
    gives: Annotated[Field | None, BeforeValidator(read_gives)] = None
    source: Source | None = None

    @classmethod
    def id(cls) -> str:
        return "addon"

    @model_validator(mode="after")
    def check_what(self) -> Self:
        """Refuse a step without a request, or with two."""
        if (self.request is None) == (self.tool is None):
            raise PydanticCustomError("field", "a step of an addon has 'request' or 'tool'", {})
        return self

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return the summary of a resource for lists, beside its description."""
        request = body.get("request") or {}
        return f"{request.get('method', 'POST')} {request.get('path', '')}".rstrip()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(name.rstrip("?") for name in self.parameters)

    def place_of(self, name: str) -> tuple[Where, str]:
        """Return the place of a parameter: the part of the request, and its name there."""
        told = self.in_.get(name)
        if told == "whole":
            return "whole", ""
        if isinstance(told, Place) and told.where is not None:
            part, other = told.where
            return part, name if other == _SAME else other
        request = self.request
        if request is None or request.graphql is not None:
            return "body", name
        if name in request.holes:
            return "path", name
        return ("query" if request.verb in _READS else "body"), name

    @cached_property
    def from_settings(self) -> Mapping[str, str]:
        """The settings that replace parameters, by the names of the parameters."""
        places = {name: place for name, place in self.in_.items() if isinstance(place, Place)}
        return {name: place.setting for name, place in places.items() if place.setting is not None}

    @property
    def writes(self) -> bool:
        """Whether it changes data, judging by its declaration."""
        return self.request is None or self.request.writes

    @cached_property
    def action(self) -> OwnAction:
        """The declaration that a step in a function is checked against."""
        gives = self.gives
        repeat = self.request.repeats if self.request else "no"
        return OwnAction(
            self.title or "", shape_types(self.parameters, given=True),
            dict(shape_spec(self.parameters)), result_type(gives), result_spec(gives),
            repeat, SECONDS,
        )  # fmt: skip

    def link(self) -> dict[str, Any]:
        """Return the description of the step for the runtime, as plain data."""
        every = (*self.names, *self.from_settings)
        found: dict[str, Any] = {
            "shape": dict(shape_spec(self.parameters)),
            "places": {name: list(self.place_of(name)) for name in every},
            "settings": dict(self.from_settings),
        }
        if self.tool is not None:
            return found | {"tool": [self.tool.name, self.tool.digest]}
        request = self.request
        assert request is not None  # noqa: S101 - it has either a request or a tool
        return found | {
            "method": request.verb, "path": request.path or "", "encoding": request.encoding,
            "lists": request.lists, "key": request.idempotency_key or "",
            "graphql": request.graphql or "",
        }  # fmt: skip


def result_type(gives: Field | None) -> Type:
    """Return the type of a step's result; without `gives` it is unknown."""
    return ANY if gives is None else gives.value_type(optional=False)


def result_spec(gives: Field | None) -> dict[str, Any]:
    """Return the spec of a step's result, whose nullable fields may also be missing."""
    if gives is None:
        return {"type": "json", "nullable": True, "optional": True}
    spec = gives.spec(optional=False)
    return _lenient(spec)


def _lenient(spec: dict[str, Any]) -> dict[str, Any]:
    found = dict(spec)
    if found.get("optional") or found.get("nullable") or found["type"] == "json":
        found |= {"optional": True, "nullable": True}
    if "items" in found:
        found["items"] = _lenient(found["items"])
    if "fields" in found:
        found["fields"] = {name: _lenient(field) for name, field in found["fields"].items()}
    return found
