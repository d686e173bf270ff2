"""The base class of resource kinds: a new kind needs only its own file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, get_args, get_origin

from pydantic import StringConstraints

from bbops.base.model import Model

ANY = "*"
"""In a path: each member of a list or map."""


class Kind(Model):
    """A kind of resource: one folder, one resource in each of its files.

    Attributes:
        folder: the folder's name; empty for the project itself.
        noun: the name of one resource in texts; the name of the class if empty.
        rank: the order of kinds in lists, smallest first.
        nests: a name may have folders in it, such as `orders/list`.
        deepest: the most parts of such a name; 0 for any number.
        segment: the pattern of each part of a name; `style` is its name in messages.
        skeleton: the file that `bbops new` writes, with `{name}`, `{words}`, `{sentence}`,
            `{authentication}` and `{function}`, a function that is created if it is missing.
    """

    folder: ClassVar[str]
    noun: ClassVar[str] = ""
    rank: ClassVar[int] = 100
    nests: ClassVar[bool] = True
    deepest: ClassVar[int] = 0
    segment: ClassVar[str] = r"[a-z0-9]+(?:-[a-z0-9]+)*"
    style: ClassVar[str] = "lower-case kebab-case"
    skeleton: ClassVar[str] = "description: {sentence}\n"

    @classmethod
    def id(cls) -> str:
        """Return the name of the kind, such as `endpoint`."""
        return cls.__name__.lower()

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return the summary of a resource for lists, beside its description."""
        del body
        return ""


@dataclass(frozen=True, slots=True)
class Names:
    """Marks a text as the name of a resource in a folder, which must exist."""

    folder: str


KebabName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$")]
"""An earlier name of a resource."""

FunctionName = Annotated[str, Names("functions")]
EndpointName = Annotated[str, Names("endpoints")]
ChannelName = Annotated[str, Names("channels")]
TableName = Annotated[str, Names("tables")]
TriggerName = Annotated[str, Names("triggers")]
TaskName = Annotated[str, Names("tasks")]
AgentName = Annotated[str, Names("agents")]
RealtimeName = Annotated[str, Names("realtime")]
WebhookName = Annotated[str, Names("webhooks")]


@dataclass(frozen=True, slots=True)
class Reference:
    """The keys at which files of a kind name resources of a folder.

    Attributes:
        keys: the names of the keys in YAML, from the root on.
        attributes: the names of the keys in the model.
    """

    keys: tuple[str, ...]
    attributes: tuple[str, ...]
    folder: str

    def fits(self, path: tuple[str | int, ...]) -> bool:
        """Return whether a path of a file is one of these keys."""
        same = (key in {ANY, part} for key, part in zip(self.keys, path, strict=False))
        return len(path) == len(self.keys) and all(same)

    def find(self, model: Model) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Yield (path, name) of each name that a model has at these keys."""
        yield from _find(model, self.keys, self.attributes)


@cache
def references_of(model: type[Model]) -> tuple[Reference, ...]:
    """Return the keys at which files of a kind name resources."""
    return tuple(_of_model(model, (), (), ()))


_Above = tuple[str, ...]


def _of_model(
    model: type[Model], keys: _Above, attributes: _Above, around: tuple[type[Model], ...]
) -> Iterator[Reference]:
    if model in around:
        return
    for name, field in model.model_fields.items():
        inner_keys, inner = (*keys, field.alias or name), (*attributes, name)
        for mark in field.metadata:
            if isinstance(mark, Names):
                yield Reference(inner_keys, inner, mark.folder)
        yield from _of_type(field.annotation, inner_keys, inner, (*around, model))


def _of_type(
    of: Any, keys: _Above, attributes: _Above, around: tuple[type[Model], ...]
) -> Iterator[Reference]:
    if isinstance(of, type) and issubclass(of, Model):
        yield from _of_model(of, keys, attributes, around)
        return
    for mark in getattr(of, "__metadata__", ()):
        if isinstance(mark, Names):
            yield Reference(keys, attributes, mark.folder)
    many = (ANY,) if get_origin(of) in {list, dict, tuple, Mapping} else ()
    for argument in get_args(of):
        yield from _of_type(argument, (*keys, *many), (*attributes, *many), around)


def _find(value: Any, keys: _Above, attributes: _Above) -> Iterator[tuple[tuple[Any, ...], str]]:
    if not keys:
        if isinstance(value, str):
            yield (), str(value)
        return
    for key, inner in _inside(value, keys[0], attributes[0]):
        for path, name in _find(inner, keys[1:], attributes[1:]):
            yield (key, *path), name


def _inside(value: Any, key: str, attribute: str) -> Iterator[tuple[str | int, Any]]:
    if key != ANY:
        if isinstance(value, Model):  # otherwise another type of the union
            yield key, getattr(value, attribute, None)
    elif isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)
