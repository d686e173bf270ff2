"""Steps of a project's own addons: one request each, as their files say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

from msgspec import UNSET

from bbops.base.header_values import MAX_CHARACTERS, find_fault
from bbops.base.host import Http, HttpResponse
from bbops.runtime.values.failures import BadHeader, FlowError
from bbops.runtime.values.operators import text
from bbops.runtime.values.outside import MOST_WORDS, Refusal, send
from bbops.runtime.values.shapes import compile_shape
from bbops.runtime.values.values import check_size
from bbops.runtime.vendors._credentials import GOOD, Credentials
from bbops.runtime.vendors._mcp import Tool, check_tools
from bbops.runtime.vendors._parts import segment, text_at
from bbops.runtime.vendors._probe import Probe
from bbops.runtime.vendors._work import AddonFailure, Do, Work, read_answer, read_json, write_json

Lists = Literal["repeat", "index", "comma"]
UNAUTHORIZED: Final = 401
MOST_FORM: Final = 10_000_000
_HOLE: Final = re.compile(r"\{([^{}]*)\}")
_MESSAGES: Final = ("message", "error_description", "detail", "title", "error", "errors", "msg")
_REASONS: Final = ("code", "reason", "type", "status", "error")


def link_own(own: Mapping[str, Any]) -> dict[str, Do]:
    """Return what the steps of an addon do, by their names.

    Args:
        own: as `bbops.language.resources._own_addon` writes it.
    """
    credentials = Credentials.read(own["auth"])
    return {
        name: _Step.make(name, own, one, credentials).do for name, one in own["steps"].items()
    }  # fmt: skip


def probe_own(own: Mapping[str, Any]) -> Probe:
    """Return what tests the connection of an addon.

    That is a step which reads and needs no parameter; of an MCP server, whether each tool is still
    the one that was chosen.
    """
    credentials = Credentials.read(own["auth"])
    steps = {
        name: _Step.make(name, own, one, credentials) for name, one in own["steps"].items()
    }  # fmt: skip

    async def probe(work: Work) -> str:
        if own["is_mcp"]:
            headers = {key.lower(): value for key, value in own["headers"].items()}
            chosen = [one["tool"] for one in own["steps"].values()]
            return await check_tools(
                work, work.address(own["address"]), headers, credentials, chosen
            )
        step = next((one for one in steps.values() if one.is_plain_read), None)
        if step is None:
            raise AddonFailure("addon-config", "no step reads without parameters: nothing to test")
        await step.do(work, {})
        return ""

    return probe


@dataclass(frozen=True, slots=True)
class _Step:
    name: str
    address: str
    is_mcp: bool
    headers: Mapping[str, str]
    told: Mapping[str, Any]
    credentials: Credentials
    check: Any

    @classmethod
    def make(
        cls, name: str, own: Mapping[str, Any], told: Mapping[str, Any], credentials: Credentials
    ) -> _Step:
        headers = {key.lower(): value for key, value in own["headers"].items()}
        check = compile_shape(told["shape"])
        return cls(name, own["address"], own["is_mcp"], headers, told, credentials, check)

    @property
    def is_plain_read(self) -> bool:
        """Whether it only reads, and needs no parameter."""
        needed = (one for one in self.told["shape"].values() if not one["optional"])
        return self.told.get("method") == "GET" and next(needed, None) is None

    async def do(self, work: Work, given: Mapping[str, Any]) -> Any:
        """Ask, and return the JSON of the answer."""
        values = self._values(work, given)
        address = work.address(self.address)
        if self.is_mcp:
            name, digest = self.told["tool"]
            tool = Tool(work, address, self.headers, self.credentials, name, digest)
            return await tool.call(values)
        return await self._ask(work, address, values)

    def _values(self, work: Work, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of all parameters, of the types that they should have.

        Raises:
            FlowError: one has another type.
        """
        errors: dict[str, list[str]] = {}
        shape = self.told["shape"]
        values: dict[str, Any] = self.check(
            {name: one for name, one in given.items()
             if one is not None or shape[name]["nullable"]}, "", errors,
        )  # fmt: skip
        for path, texts in errors.items():
            raise FlowError(f"'{path}' of '{work.addon}.{self.name}' {texts[0]}")
        settings = {name: work.setting(key) for name, key in self.told["settings"].items()}
        return values | settings

    async def _ask(self, work: Work, address: str, values: Mapping[str, Any]) -> Any:
        told, parts = self.told, _Parts.sort(self.told["places"], values)
        url = address + _path(told["path"], parts.path)
        query = [*_pairs(parts.query, told["lists"]), *self.credentials.query(work)]
        if query:
            url += "?" + urlencode(query, quote_via=quote)
        kind, body = self._body(parts)
        headers = {"accept": "application/json", **self.headers}
        headers |= {
            name: _header(name, one) for name, one in parts.header.items() if one is not None
        }
        if told["key"]:
            headers[told["key"].lower()] = work.key
        if kind:
            headers["content-type"] = kind

        async def ask(http: Http) -> HttpResponse:
            whole = headers | await self.credentials.headers(work, http)
            request = work.request(told["method"], url, whole, body)
            return await send(http, request, repeats=work.terms.repeats)

        answer = await work.together(ask)
        found = read_json(answer)
        if answer.status not in GOOD:
            if answer.status == UNAUTHORIZED:
                self.credentials.forget()
            raise work.failure(url, answer, read_refusal(found))
        found = read_answer(address, answer)
        return _data(work, address, answer, found) if told["graphql"] else found

    def _body(self, parts: _Parts) -> tuple[str, bytes]:
        told, body = self.told, parts.body
        if told["graphql"]:
            return "application/json", write_json({"query": told["graphql"], "variables": body})
        sent: Any = body if parts.whole is UNSET else parts.whole
        if parts.whole is UNSET and not body:
            # a form that is empty, or JSON of which every part was left out
            has_body = any(where == "body" for where, _ in told["places"].values())
            if not has_body or told["encoding"] == "form":
                return "", b""
        if told["encoding"] == "form":
            check_size([sent], MOST_FORM)
            pairs = list(_pairs(sent, told["lists"]))
            return "application/x-www-form-urlencoded", urlencode(pairs, quote_via=quote).encode()
        return "application/json", write_json(sent)


@dataclass(frozen=True, slots=True)
class _Parts:
    path: dict[str, Any]
    query: dict[str, Any]
    header: dict[str, Any]
    body: dict[str, Any]
    whole: Any

    @classmethod
    def sort(cls, places: Mapping[str, tuple[str, str]], values: Mapping[str, Any]) -> _Parts:
        found: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "header": {}, "body": {}}
        whole: Any = UNSET
        for name, value in values.items():
            where, theirs = places[name]
            if where == "whole":
                whole = value
            else:
                found[where][theirs] = value
        return cls(found["path"], found["query"], found["header"], found["body"], whole)


def _path(path: str, values: Mapping[str, Any]) -> str:
    def put(match: re.Match[str]) -> str:
        value = values.get(match[1])
        if value is None:
            raise FlowError(f"'{match[1]}' is part of the path, and has no value")
        return segment(text(value), match[1])

    return _HOLE.sub(put, path)


def _header(name: str, value: Any) -> str:
    found = ", ".join(map(text, value)) if isinstance(value, list) else text(value)
    if fault := find_fault(found, MAX_CHARACTERS):
        raise BadHeader(f"header '{name}' {fault}")
    return found


def _pairs(value: Any, lists: Lists, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield a value as fields: maps as `a[b]`, lists as the step's file says; null is left out."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _pairs(one, lists, f"{name}[{key}]" if name else str(key))
    elif isinstance(value, list):
        yield from _of_list(value, lists, name)
    elif value is not None:
        yield name, text(value)


def _of_list(value: list[Any], lists: Lists, name: str) -> Iterator[tuple[str, str]]:
    is_flat = not any(isinstance(one, Mapping | list) for one in value)
    if is_flat and lists == "comma":
        if value:
            yield name, ",".join(text(one) for one in value if one is not None)
        return
    for at, one in enumerate(value):
        yield from _pairs(one, lists, name if is_flat and lists == "repeat" else f"{name}[{at}]")


def read_refusal(found: Any) -> Refusal:
    """Return what an answer says of its error, in any of the shapes that APIs have."""
    inner = found
    for key in ("error", "errors", "fault"):
        one = found.get(key) if isinstance(found, dict) else None
        one = one[0] if isinstance(one, list) and one else one
        if isinstance(one, dict):
            inner = one
            break
    if not isinstance(inner, dict):
        return Refusal()
    said = next((text_ for key in _MESSAGES if (text_ := _word(inner.get(key)))), None)
    reason = next((text_ for key in _REASONS if (text_ := _word(inner.get(key), 100))), None)
    if inner is not found and reason is None:
        reason = _word(found.get("code"), 100)
    return Refusal(said, reason if reason != said else None)


def _word(value: Any, most: int = MOST_WORDS) -> str | None:
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return value if isinstance(value, str) and 0 < len(value) <= most else None


def _data(work: Work, address: str, answer: HttpResponse, found: Any) -> Any:
    """Return the `data` of an answer of GraphQL.

    Raises:
        HttpFailure: it has errors.
        AddonFailure: `addon-answer`, it is none.
    """
    if not isinstance(found, dict) or not ("data" in found or "errors" in found):
        raise AddonFailure("addon-answer", "the server returned no answer of GraphQL")
    errors = found.get("errors")
    if errors:
        first = errors[0] if isinstance(errors, list) else errors
        said = text_at(first, "message")
        reason = text_at(first, "extensions", "code") or text_at(first, "type")
        raise work.failure(address, answer, Refusal(said, reason, status=_status(answer)))
    return found.get("data")


def _status(answer: HttpResponse) -> int:
    return 400 if answer.status in GOOD else answer.status
