"""Operations of a document as steps: what is sent, what it takes, what it gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.base.diagnostics import suggest
from bbops.edit.importing.document import Document, Refused, one_line
from bbops.edit.importing.schemas import MOST_PARTS, NAME, Reader, bounded
from bbops.language.resources._own_addon import check_path
from bbops.runtime.steps.http_call import OURS

METHODS: Final = ("get", "head", "post", "put", "patch", "delete")
MOST_TITLE: Final = 80
MOST_NAME: Final = 200
_HOLE: Final = re.compile(r"\{([^{}]*)\}")
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,100}").fullmatch
_UNWANTED: Final = OURS | {"authorization", "accept", "content-type", "cookie"}
_JSON_BODY: Final = "application/json"
_FORM_BODY: Final = "application/x-www-form-urlencoded"

Step = dict[str, Any]
"""The file of a step as data."""


def find_operation(document: Document, wanted: str) -> tuple[str, str]:
    """Return method and path of an operation: `POST /v1/refunds`, or its `operationId`.

    Raises:
        Refused: the document has none of this name.
    """
    method, _, path = wanted.partition(" ")
    if path and method.lower() in METHODS:
        found = _item(document, path.strip())
        if isinstance(found.get(method.lower()), Mapping):
            return method.lower(), path.strip()
        raise _unknown(document, wanted)
    for one in document.keys(("paths",)):
        item = _item(document, one)
        for verb in METHODS:
            operation = item.get(verb)
            if isinstance(operation, Mapping) and operation.get("operationId") == wanted:
                return verb, one
    raise _unknown(document, wanted)


def _item(document: Document, path: str) -> Mapping[str, Any]:
    found, _ = document.follow(document.at(("paths", path)))
    return found if isinstance(found, Mapping) else {}


def _unknown(document: Document, wanted: str) -> Refused:
    path = wanted.partition(" ")[2]
    paths = document.keys(("paths",))
    if path and path in paths:
        verbs = [one.upper() for one in METHODS if one in _item(document, path)]
        hint = f"it has {', '.join(verbs)}"
    else:
        near = suggest(path or wanted, paths[:20_000])
        hint = near or "name one as 'POST /v1/refunds', or by its operationId"
    return Refused(f"the document has no operation '{one_line(wanted, 200)}'", hint=hint)


@dataclass(slots=True)
class _Making:
    """A step under construction."""

    document: Document
    wanted: str
    method: str
    path: str
    parameters: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Any] = field(default_factory=dict)
    request: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    reader: Reader = field(init=False)
    usual: str = field(init=False)

    def __post_init__(self) -> None:
        self.reader = Reader(self.document, sends=True)
        self.usual = "query" if self.method in {"get", "head", "delete"} else "body"

    def add(self, name: str, kind: Any, place: str, *, needed: bool) -> None:
        """Add a parameter, under a name of ours.

        Raises:
            Refused: there are two of one name.
        """
        ours = name if NAME(name) else camel(name)
        if ours in {one.rstrip("?") for one in self.parameters}:
            ours = camel(f"{place} {name}")
        if ours in {one.rstrip("?") for one in self.parameters}:
            message = f"'{self.wanted}' has two parameters '{one_line(name, 80)}'"
            raise Refused(message)
        self.parameters[ours if needed else f"{ours}?"] = kind
        by_itself = "path" if place == "path" else self.usual
        if name != ours:
            self.places[ours] = {place: name}
        elif place != by_itself:
            self.places[ours] = place


def make_step(document: Document, wanted: str) -> tuple[Step, list[str]]:
    """Return the file of a step, and notes about what it leaves out.

    Raises:
        Refused: the operation cannot be asked by a step.
    """
    method, path = find_operation(document, wanted)
    _refuse_path(path)
    item = _item(document, path)
    operation = item[method]
    making = _Making(document, f"{method.upper()} {path}", method, path)
    making.request = {"method": method.upper(), "path": path}
    for one in [*_listed(item), *_listed(operation)]:
        _parameter(making, one)
    holes = _HOLE.findall(path)
    for hole in holes:
        if hole not in _in_path(making):
            making.add(hole, "string", "path", needed=True)
    _body(making, operation)
    title = operation.get("summary") or operation.get("operationId") or wanted
    step: Step = {"title": one_line(str(title), MOST_TITLE) or making.wanted[:MOST_TITLE]}
    step["request"] = making.request
    if making.parameters:
        step["parameters"] = _bounded(making)
    if making.places:
        step["in"] = making.places
    gives = _gives(document, operation)
    if gives is not None:
        step["gives"] = gives
    return step, making.notes


def _refuse_path(path: str) -> None:
    try:
        check_path(path)
    except ValueError:
        raise Refused(f"'{one_line(path, 200)}' is not a path that a step can ask") from None


def _listed(holder: Mapping[str, Any]) -> list[Any]:
    found = holder.get("parameters")
    return found[:MOST_PARTS] if isinstance(found, list) else []


def _in_path(making: _Making) -> set[str]:
    names = {one.rstrip("?") for one in making.parameters}
    placed = [one for one in making.places.values() if isinstance(one, dict) and "path" in one]
    return names | {one["path"] for one in placed}


def _parameter(making: _Making, part: Any) -> None:
    one, _ = making.document.follow(part)
    name, place = (one.get("name"), one.get("in")) if isinstance(one, Mapping) else (None, None)
    if not isinstance(name, str) or place not in {"path", "query", "header", "cookie"}:
        raise Refused(f"'{making.wanted}' has a parameter without a name or place")
    needed = one.get("required") is True or place == "path"
    is_unwanted = place == "cookie" or (place == "header" and name.lower() in _UNWANTED)
    if place == "path" and name not in _HOLE.findall(making.path):
        return
    if is_unwanted or (place == "header" and not _HEADER(name)) or len(name) > 200:
        if needed and name.lower() not in _UNWANTED:
            message = f"'{making.wanted}' needs '{one_line(name, 80)}' in the {place}"
            raise Refused(message, hint="which no step can send")
        return
    _drop(making, name, place)  # one of the operation stands for one of the path
    kind = making.reader.field(one.get("schema", True), 1)
    if place in {"path", "header"} and _is_deep(kind):
        kind = "string"
    if one.get("explode") is False and _is_list(kind):
        making.request["lists"] = "comma"
    if one.get("style") == "deepObject" and _is_list(kind):
        making.request["lists"] = "index"
    making.add(name, kind, place, needed=needed)


def _drop(making: _Making, name: str, place: str) -> None:
    for ours in [*making.parameters]:
        bare = ours.rstrip("?")
        told = making.places.get(bare, making.usual)
        where, theirs = next(iter(told.items())) if isinstance(told, dict) else (told, bare)
        in_path = place == "path" and bare in _HOLE.findall(making.path)
        if theirs == name and (where == place or in_path):
            del making.parameters[ours]
            making.places.pop(bare, None)


def _is_deep(kind: Any) -> bool:
    deep = {"object", "list"}
    return kind == "json" or (isinstance(kind, dict) and kind["type"].rstrip("?") in deep)


def _is_list(kind: Any) -> bool:
    text = kind if isinstance(kind, str) else kind["type"]
    return text.rstrip("?").endswith("[]") or text.rstrip("?") == "list"


def _body(making: _Making, operation: Mapping[str, Any]) -> None:
    body, _ = making.document.follow(operation.get("requestBody"))
    content = body.get("content") if isinstance(body, Mapping) else None
    if not isinstance(content, Mapping) or not content or making.method in {"get", "head"}:
        return
    by_kind = {str(kind).partition(";")[0].strip().lower(): one for kind, one in content.items()}
    kind = next((one for one in (_JSON_BODY, _FORM_BODY) if one in by_kind), "")
    kind = kind or next((one for one in by_kind if one.endswith("+json") or one == "*/*"), "")
    if not kind:
        if body.get("required") is not True:
            return
        listed = one_line(", ".join(by_kind), 100)
        raise Refused(f"'{making.wanted}' takes {listed} only, expected JSON or a form")
    media, _ = making.document.follow(by_kind[kind])
    media = media if isinstance(media, Mapping) else {}
    if kind == _FORM_BODY:
        making.request["encoding"] = "form"
        making.request |= _lists_of(media)
    making.usual = "body" if making.method != "delete" else making.usual
    schema, _ = making.document.follow(media.get("schema"))
    if isinstance(schema, Mapping) and isinstance(schema.get("allOf"), list):
        schema = making.reader.merged(schema)
    needed = body.get("required") is True
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not _are_names(properties):
        making.add("body", "json", "body", needed=needed)
        ours = [*making.parameters][-1].rstrip("?")
        making.places[ours] = {"whole": True}
        return
    required = {one for one in schema.get("required") or () if isinstance(one, str)}
    for name, one in making.reader.properties(schema):
        inner = making.reader.field(one, 2)
        is_told = body.get("required") is not False  # many leave it out, and mean it
        making.add(name, inner, "body", needed=is_told and name in required)


def _are_names(properties: Mapping[Any, Any]) -> bool:
    """Return whether each property can be a parameter."""
    names = [*map(str, properties)]
    is_right = all(0 < len(one) <= MOST_NAME and one.isprintable() for one in names)
    return 0 < len(names) <= MOST_PARTS and is_right


def _lists_of(media: Mapping[str, Any]) -> dict[str, str]:
    """Return how the lists of a form are written: as `a[0]` where the document says so."""
    told = media.get("encoding")
    styles = [one.get("style") for one in told.values() if isinstance(one, Mapping)] if isinstance(
        told, Mapping
    ) else []  # fmt: skip
    return {"lists": "index"} if "deepObject" in styles else {}


def _bounded(making: _Making) -> dict[str, Any]:
    """Return the parameters; together they have at most so many parts."""
    whole = bounded({"type": "object", "fields": making.parameters})
    if isinstance(whole, dict) and "fields" in whole:
        fields: dict[str, Any] = whole["fields"]
        return fields
    return dict.fromkeys(making.parameters, "json")


def _gives(document: Document, operation: Mapping[str, Any]) -> Any:
    responses, _ = document.follow(operation.get("responses"))
    listed = responses if isinstance(responses, Mapping) else {}
    good = sorted(str(one) for one in listed if str(one).startswith("2"))
    for status in good:
        answer, _ = document.follow(listed.get(status, listed.get(_number(status))))
        content = answer.get("content") if isinstance(answer, Mapping) else None
        for kind, media in content.items() if isinstance(content, Mapping) else ():
            if str(kind).partition(";")[0].strip().lower().endswith("json"):
                told, _ = document.follow(media)
                schema = told.get("schema", True) if isinstance(told, Mapping) else True
                found = bounded(Reader(document, sends=False).field(schema))
                return None if found == "json" else found
    return None


def _number(status: str) -> Any:
    return int(status) if status.isdigit() else status


def camel(text: str) -> str:
    """Return a name of ours for a name of others: `content-type` is `contentType`."""
    first, *rest = re.findall(r"[A-Za-z0-9]+", text)[:8] or ["value"]
    whole = first[:1].lower() + first[1:] + "".join(one[:1].upper() + one[1:] for one in rest)
    return f"p{whole}"[:60] if whole[:1].isdigit() else whole[:60]
