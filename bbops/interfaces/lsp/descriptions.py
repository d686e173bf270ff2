"""What an editor shows about keys, filters and functions, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bbops.base.model import Model
from bbops.interfaces.lsp.key_words import KEYS
from bbops.interfaces.lsp.slots import field_slot, fields
from bbops.interfaces.lsp.takes import takes
from bbops.language.steps._base import Step, find_step_kind
from bbops.runtime.values.filters import FILTERS, FUNCTIONS


def about_model(model: type[BaseModel]) -> str:
    """Return what a model says of itself; for a step with an example."""
    text = (model.__doc__ or "").strip().partition("\n")[0]
    text = text if is_run(model) else f"{text} {NOT_YET}"
    examples = getattr(model, "examples", ()) if issubclass(model, Step) else ()
    return "\n\n".join([text, *(f"```yaml\n{one.steps.rstrip()}\n```" for one in examples[:1])])


def about_key(model: type[BaseModel], key: str) -> str:
    """Return what a key of a model means; empty for an unknown one."""
    field = fields(model).get(key)
    if field is None:
        return ""
    if issubclass(model, Step) and find_step_kind(key) is model:
        return about_model(model)
    inner = field_slot(model, key).model
    known = field.description or KEYS.get(f"{model.__name__}.{key}") or KEYS.get(key)
    known = known or (about_model(inner) if inner is not None else "")
    return known if is_run(model, key) else f"{known} {NOT_YET}"


NOT_YET = "Checked; this version does not run it yet."


def is_run(model: type[BaseModel], key: str = "") -> bool:
    """Return whether this version runs a kind or step, or one of its keys."""
    if not issubclass(model, Model):
        return True
    return key not in model.unsupported_keys() if key else model.is_supported()


def written(field: FieldInfo, key: str = "") -> str:
    """Return in a few words what a field takes."""
    text = takes(field, key)
    if field.is_required():
        return f"{text}, needed"
    if isinstance(field.default, str | int) and not isinstance(field.default, bool):
        return f"{text}, else {field.default}"
    return text


_GIVES = {"same": "the same type", "item": "a member", "any": "any value"}


def signature(name: str) -> str:
    """Return how a filter or function is written, and what it gives."""
    one: Any = FILTERS.get(name) or FUNCTIONS[name]
    is_filter = name in FILTERS
    code = one.apply.__code__
    hidden = 1 if is_filter or one.needs_host else 0
    names = list(code.co_varnames[hidden : code.co_argcount])
    arrows = one.arrows if is_filter else {}
    names = [f"row => {n}" if at in arrows else n for at, n in enumerate(names)]
    arguments = [n if at < one.least else f"{n}?" for at, n in enumerate(names)]
    if code.co_flags & 0x04:  # inspect.CO_VARARGS
        arguments.append(f"{code.co_varnames[code.co_argcount + code.co_kwonlyargcount]}…")
    inner = ", ".join(arguments)
    if not is_filter:
        return f"{name}({inner}) → {_GIVES.get(one.gives, one.gives)}"
    taken = one.takes.replace("any", "any value").replace(" ", " or ").replace("any or", "any")
    given = _GIVES.get(one.gives, one.gives)
    return f"{taken} | {name}{f'({inner})' if inner else ''} → {given}"


ASKED = {
    "exists": "Whether there is such a row.",
    "count": "How many rows there are; with a condition, how many meet it.",
    "countDistinct": "How many different values there are; null is none.",
    "sum": "The sum of the values, 0 where there are none.",
    "avg": "The average of the values, null where there are none.",
    "min": "The least of the values, null where there are none.",
    "max": "The greatest of the values, null where there are none.",
    "first": "The value of the first row in the order of the key, null where there is none.",
    "last": "The value of the last row in the order of the key, null where there is none.",
    "list": "The values of the rows, as a list.",
    "rank": "The place of the row in an order, from 1 on; ties share one.",
    "rowNumber": "The place of the row in an order, from 1 on; ties go by the key.",
}  # fmt: skip
"""What the functions of queries give."""


def summary(one: Any) -> str:
    """Return what a filter or function does, with its example."""
    text, result = one.example
    return f"{one.summary}\n\n```\n{text}  →  {as_literal(result)}\n```"


def as_literal(value: object) -> str:
    """Return a value as an expression has it: `'text'`, `true`, `null`, `[1, 2]`."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name}: {as_literal(one)}' for name, one in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_literal, value))}]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{escaped}'"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return str(value)
