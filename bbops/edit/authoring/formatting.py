"""The format of project files: order of keys, text of data, whole files."""

from __future__ import annotations

import hashlib
import json
import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel

from bbops.base.diagnostics import Diagnostic, Place
from bbops.base.errors import BbopsError
from bbops.base.model import plain
from bbops.language.loading.load import kinds, model_of
from bbops.language.resources._crud import Crud
from bbops.language.resources.agent import RunsOn
from bbops.language.resources.endpoint import Endpoint
from bbops.language.resources.function import Function
from bbops.language.resources.table import Column
from bbops.language.steps._base import Step, find_step_kind
from bbops.language.steps._find import FindParameters
from bbops.language.steps._shape import NestedFind, Selected
from bbops.language.steps.log import LogParameters
from bbops.source.yaml.format import AsWritten, ChangedMeaning, Order, format_document, read_source


@dataclass(frozen=True, slots=True)
class Formatted:
    """A file in our style, or why there is none; `text` is empty then."""

    text: str
    diagnostics: tuple[Diagnostic, ...] = ()


def is_resource(path: str) -> bool:
    """Return whether a path from the project's root is one of a resource."""
    parts = PurePosixPath(path).parts
    return path == "project.yaml" or (
        path.endswith(".yaml") and len(parts) > 1 and parts[0] in {*kinds(), "tests"}
    )


def format_file(path: str, data: bytes) -> Formatted:
    """Return the text of a file in our style. `path` is the one from the project's root.

    Raises:
        BbopsError: the result would not mean the same, which is a mistake of ours.
    """
    document = read_source(data)
    if document.problems:
        return Formatted("", tuple(
            Diagnostic(Place(path, one.line, one.column), one.code, one.message, one.hint)
            for one in document.problems
        ))  # fmt: skip
    if not isinstance(document.root, dict):
        return Formatted("", (Diagnostic(Place(path), "not-a-map", "a resource is a map of keys"),))
    try:
        return Formatted(format_document(document, order_in(path, document.root)))
    except ChangedMeaning as error:
        message = f"'{path}' cannot be formatted: {error}"
        raise BbopsError(message, hint="this is a bug in bbops; the file stays as it is") from error


def order_in(path: str, root: object = None) -> Order:
    """Return the order of keys in a file, by what is in it; `path` is from the project's root."""
    top = PurePosixPath(path).parts[0]
    if path == "project.yaml":
        return order_of(kinds()[""])
    if top not in kinds():
        return AsWritten()
    name = path.removeprefix(f"{top}/").removesuffix(".yaml")
    return order_of(model_of(top, name, root))


# ---- The order of keys that a reader expects: as the models declare them

_FIRST: dict[type[BaseModel], tuple[str, ...]] = {
    Column: (
        "type", "like", "computed", "primaryKey", "references", "reverse", "nullable", "onDelete",
        "unique", "private", "auto", "enum",
    ),
    Crud: (
        "channel", "table", "path", "authentication", "owner", "match", "description", "select",
    ),
    Endpoint: ("channel",),
    Function: ("description", "params", "query", "strictQuery", "payload"),
    LogParameters: ("level",),
}  # fmt: skip
"""Where what is read first is not what is declared first."""

_LAST: dict[type[BaseModel], tuple[str, ...]] = {FindParameters: ("one", "withTotal")}
"""Likewise, where it is read last."""

_BESIDE = ("then", "elif", "cases", "else", "catch", "finally", "as", "name", "timeout", "retry")
"""Keys beside a step's action, in this order."""


def order_of(annotation: Any) -> Order:
    """Return the order of keys in what a model, or the annotation of a field, describes."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return order_of(inside[0])
    if origin in {Union, types.UnionType}:
        orders = [*map(order_of, inside)]
        if step := next((one for one in orders if isinstance(one, _AnyStep)), None):
            return step  # a step, or none
        found = [one for one in orders if not isinstance(one, AsWritten)]
        return found[0] if len(found) == 1 else AsWritten()
    if origin in {dict, list}:
        return _Members(order_of(inside[-1]))
    if annotation is Step:
        return _AnyStep()
    if annotation is Selected:
        return _Selected()
    if annotation is RunsOn:  # alternatives side by side
        return AsWritten()
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _Keys(annotation)
    return AsWritten()


class _Members:
    """Names or items that the author chose, each of one kind."""

    def __init__(self, member: Order) -> None:
        self._member = member

    def sorted(self, keys: Sequence[str]) -> Sequence[str]:
        """Return the keys in their order."""
        return keys

    def inside(self, key: str | None, keys: Sequence[str]) -> Order:
        """Return the order below a key."""
        del key
        return _of_kind(self._member, keys)


class _Selected(AsWritten):
    """What `select` holds: names of the author's, and the keys of nested lists."""

    def inside(self, key: str | None, keys: Sequence[str]) -> Order:
        """Return the order below a key."""
        del keys
        return _Keys(NestedFind) if key == "find" else self


class _AnyStep(AsWritten):
    """Any step; which one it is, its keys tell."""


def _of_kind(member: Order, keys: Sequence[str]) -> Order:
    if not isinstance(member, _AnyStep):
        return member
    found = ((key, kind) for key in keys if (kind := find_step_kind(key)) is not None)
    action, kind = next(found, (None, Step))
    return _Keys(kind, action) if action else AsWritten()


class _Keys:
    """The keys of a model; of a step those of its action as well."""

    def __init__(self, model: type[BaseModel], action: str | None = None) -> None:
        self._fields = {
            field.alias or name: field.annotation for name, field in model.model_fields.items()
        }
        first = (action, *_BESIDE) if action else _FIRST.get(model, ())
        self._last = _LAST.get(model, ())
        every = (key for key in (*first, *self._fields) if key and key not in self._last)
        self._order = [*dict.fromkeys(every)]

    def sorted(self, keys: Sequence[str]) -> Sequence[str]:
        """Return the keys in their order."""
        unknown = len(self._order)
        places = {key: place for place, key in enumerate(self._order)}
        places |= {key: unknown + 1 + place for place, key in enumerate(self._last)}
        return sorted(keys, key=lambda key: places.get(key, unknown))

    def inside(self, key: str | None, keys: Sequence[str]) -> Order:
        """Return the order below a key."""
        del keys
        return order_of(self._fields.get(str(key)))


# ---- Data as the text of a file in our style, and the digest by which an edited one is known

_PLAIN: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_/ .@-]*[A-Za-z0-9_/?]|[A-Za-z_/]").fullmatch
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~", ""})
_WIDTH: Final = 70
_STEPS: Final = frozenset({"steps", "then", "else", "transaction"})


def write_file(data: Mapping[str, Any]) -> str:
    """Return the text of a file: short values on one line, others on lines of their own."""
    return _block(data, 0)


def _block(data: Mapping[str, Any], indent: int) -> str:
    pad, lines = "  " * indent, []
    for key, value in data.items():
        told = _flow(value)
        if isinstance(value, dict) and value and len(told) > _WIDTH:
            lines.append(f"{pad}{_scalar(key)}:\n{_block(value, indent + 1)}")
        elif key in _STEPS and isinstance(value, list):
            lines.append(f"{pad}{_scalar(key)}:\n{_steps(value, indent + 1)}")
        else:
            lines.append(f"{pad}{_scalar(key)}: {told}\n")
    return "".join(lines)


def _steps(steps: list[Any], indent: int) -> str:
    """Return steps, each on lines of its own."""
    pad = "  " * indent
    each = (_block(one, indent + 1) for one in steps)
    return "".join(f"{pad}- {one[len(pad) + 2 :]}" for one in each)


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{_scalar(key)}: {_flow(one)}" for key, one in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    """Return a value so that YAML reads it as what it is."""
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN(value) and value.lower() not in _WORDS and "  " not in value:
        return value
    return json.dumps(value, ensure_ascii=False)


def digest_of(data: Mapping[str, Any]) -> str:
    """Return the digest of what a file says, without what `source` notes."""
    told = {key: one for key, one in plain(data).items() if key != "source"}
    whole = json.dumps(told, sort_keys=True, separators=(",", ":"), default=str)
    return f"sha256:{hashlib.sha256(whole.encode()).hexdigest()}"
