"""What an editor shows about keys, filters and functions, in Markdown."""

from __future__ import annotations

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bbops.base.model import Model
from bbops.interfaces.lsp.key_words import KEYS
from bbops.interfaces.lsp.slots import field_slot, fields
from bbops.interfaces.lsp.takes import takes
from bbops.language.reference import Entry, as_literal
from bbops.language.reference.markdown import example_line
from bbops.language.steps._base import Step, find_step_kind


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


def brief(entry: Entry) -> str:
    """Return the summary of an entry of the reference, with an example."""
    shown = [example_line(entry.example)] if entry.example is not None else []
    shown = shown or [f"{one.expression}  →  {as_literal(one.results)}"
                      for one in entry.query_examples[:1]]  # fmt: skip
    example = "\n".join(shown)
    return f"{entry.summary}\n\n```\n{example}\n```" if example else entry.summary
