"""Describe keys, filters and functions for an editor, in Markdown."""

from __future__ import annotations

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bbops.base.model import Model
from bbops.interfaces.lsp.key_descriptions import KEY_DESCRIPTIONS
from bbops.interfaces.lsp.schema import field_schema, fields
from bbops.interfaces.lsp.value_descriptions import describe_value
from bbops.language.reference import Entry, as_literal
from bbops.language.reference.markdown import example_line
from bbops.language.steps._base import Step, find_step_kind


def about_model(model: type[BaseModel]) -> str:
    """Return the description of a model; for a step with an example."""
    text = (model.__doc__ or "").strip().partition("\n")[0]
    text = text if is_run(model) else f"{text} {NOT_YET}"
    examples = getattr(model, "examples", ()) if issubclass(model, Step) else ()
    examples = [example.steps.rstrip() for example in examples[:1]]
    return "\n\n".join([text, *(f"```yaml\n{example}\n```" for example in examples)])


def about_key(model: type[BaseModel], key: str) -> str:
    """Return the description of a key of a model; empty for an unknown key."""
    field = fields(model).get(key)
    if field is None:
        return ""
    if issubclass(model, Step) and find_step_kind(key) is model:
        return about_model(model)
    inner = field_schema(model, key).model
    text = (
        field.description
        or KEY_DESCRIPTIONS.get(f"{model.__name__}.{key}")
        or KEY_DESCRIPTIONS.get(key)
    )
    text = text or (about_model(inner) if inner is not None else "")
    return text if is_run(model, key) else f"{text} {NOT_YET}"


NOT_YET = "Checked; this version does not run it yet."


def is_run(model: type[BaseModel], key: str = "") -> bool:
    """Return whether this version runs a kind or step, or one of its keys."""
    if not issubclass(model, Model):
        return True
    return key not in model.unsupported_keys() if key else model.is_supported()


def describe_field(field: FieldInfo, key: str = "") -> str:
    """Return the accepted values of a field in a few words."""
    text = describe_value(field, key)
    if field.is_required():
        return f"{text}, needed"
    if isinstance(field.default, str | int) and not isinstance(field.default, bool):
        return f"{text}, else {field.default}"
    return text


def brief(entry: Entry) -> str:
    """Return the summary of an entry of the reference, with an example."""
    examples = [example_line(entry.example)] if entry.example is not None else []
    examples = examples or [f"{item.expression}  →  {as_literal(item.results)}"
                            for item in entry.query_examples[:1]]  # fmt: skip
    text = "\n".join(examples)
    return f"{entry.summary}\n\n```\n{text}\n```" if text else entry.summary
