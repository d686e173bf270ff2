"""Explain the text under the mouse: its type, its description, an example."""

from __future__ import annotations

from lsprotocol import types as lsp
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bbops.base.model import Model
from bbops.interfaces.lsp.cursor_target import CursorTarget, find_target
from bbops.interfaces.lsp.key_descriptions import KEY_DESCRIPTIONS
from bbops.interfaces.lsp.names import OWN_STEPS, describe, list_names, resources
from bbops.interfaces.lsp.project import EditorProject
from bbops.interfaces.lsp.schema import field_schema, fields, node_at, schema_at, step_model
from bbops.interfaces.lsp.text import SourceLines, start_of
from bbops.interfaces.lsp.value_descriptions import describe_value
from bbops.language.expressions.nodes import (
    Binary,
    Choice,
    Compare,
    Filter,
    FunctionCall,
    ItemAccess,
    Literal,
    Logic,
    Member,
    Name,
    Node,
    Unary,
)
from bbops.language.expressions.related import RELATED_WORDS, WINDOWS
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Expression
from bbops.language.reference import Entry, Group, as_literal, as_markdown, read_reference
from bbops.language.reference.markdown import example_line
from bbops.language.steps._aggregate import FUNCTIONS_OF
from bbops.language.steps._base import Step, find_step_kind

_MAX_FIELDS = 30
_OF_ROWS = {**RELATED_WORDS, **WINDOWS}


def explain(folder: EditorProject, path: str, lines: SourceLines, offset: int) -> lsp.Hover | None:
    """Return the hover text at an offset of a file; None without one."""
    target = find_target(folder, path, lines, offset)
    if target is None:
        return None
    text = (
        _expression(target)
        if target.node is not None
        else _name(target) or _type(target) or _key(target)
    )
    if not text:
        return None
    start, end = target.spot.mark.start, target.spot.mark.end
    if target.node is not None:
        first, last = _extent(target.node)
        start = start_of(target.document, lines, target.spot.mark, first)
        end = start_of(target.document, lines, target.spot.mark, last)
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
    return lsp.Hover(content, lines.range(start, end))


def _extent(node: Node) -> tuple[int, int]:
    """Return the range of a node; of a filter only the range of its name."""
    if isinstance(node, Filter):
        return node.name_start, node.name_start + len(node.name)
    return node.start, node.end


# ---- expressions
def _expression(target: CursorTarget) -> str:
    node = target.node
    if isinstance(node, Filter) and (entry := _entry("filter", node.name)):
        is_name = node.name_start <= target.offset <= node.name_start + len(node.name)
        return _documented(entry) if is_name else _typed("", target.type_of(node))
    if isinstance(node, FunctionCall) and node.name in {**FUNCTIONS_OF, **RELATED_WORDS, **WINDOWS}:
        is_value = "values" in target.spot.path and "aggregate" in target.spot.path
        signatures = FUNCTIONS_OF if is_value and node.name in FUNCTIONS_OF else _OF_ROWS
        entry = _entry("function", node.name)
        has_signature = entry is not None and node.name in signatures
        return _documented(entry, signatures[node.name]) if entry and has_signature else ""
    if isinstance(node, FunctionCall) and (entry := _entry("function", node.name)):
        return _documented(entry)
    if isinstance(node, Literal) or node is None:
        return ""
    if entry := _entry("operator", _operator(node)):
        return "\n\n".join(filter(None, [_typed("", target.type_of(node)), _documented(entry)]))
    name = node.name if isinstance(node, Name | Member) else ""
    column = target.column()
    return "\n\n".join(filter(None, [_typed(name, target.type_of(node)), _column(target, column)]))


def _operator(node: Node) -> str:
    """Return the operator of a node; empty for other nodes."""
    if isinstance(node, Binary | Compare | Logic | Unary):
        return node.op
    if isinstance(node, Choice):
        return "if"
    return "[]" if isinstance(node, ItemAccess) else ""


def _entry(group: Group, name: str) -> Entry | None:
    return read_reference()[group].get(name)


def _documented(entry: Entry, signature: str = "") -> str:
    """Return an entry of the reference, with its signature or one for this place."""
    return f"```\n{signature or entry.signature}\n```\n{brief(entry)}"


def _typed(name: str, value_type: Type | None) -> str:
    """Return a type in a code block, a map with its fields."""
    if value_type is None or value_type.is_never:
        return ""
    head = f"{name}: {value_type}" if name else str(value_type)
    if value_type.what and value_type.what != name:
        head += f"  ({value_type.what})"
    is_list = value_type.kind == "list" and value_type.item is not None
    row = value_type.item if is_list and value_type.item else value_type
    lines = [f"  {key}: {field}{_private(field)}" for key, field in (row.fields or {}).items()]
    return "\n".join(["```", head + _private(value_type), *_shorten(lines), "```"])


def _shorten(lines: list[str]) -> list[str]:
    return lines if len(lines) <= _MAX_FIELDS else [*lines[:_MAX_FIELDS], "  …"]


def _private(value_type: Type) -> str:
    return "  (private)" if value_type.private else ""


# ---- names and keys
def _column(target: CursorTarget, column: tuple[str, str] | None) -> str:
    if column is None or column[0] not in target.project.tables:
        return ""
    table, name = column
    model = target.project.tables[table].model
    definition = {**model.columns, **model.computed}.get(name)
    if definition is None:
        return ""
    keys = definition.model_dump(by_alias=True, exclude_defaults=True, exclude={"description"})
    if isinstance(definition.computed, Expression):
        value_type = target.project.sql_tables[table].columns[name].value_type
        keys = {"type": value_type, "computed": definition.computed.text, **keys}
    text = ", ".join(f"{key}: {_yaml(value)}" for key, value in keys.items())
    return "\n\n".join(filter(None, [f"`{table}.{name}` — {text}", definition.description]))


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _name(target: CursorTarget) -> str:
    if target.name_kind is None:
        return ""
    if column := target.column():
        return _column(target, column)
    text = str(target.spot.value)
    if target.name_kind.group == OWN_STEPS and text in target.project.own_actions:
        return _own_step(target, text)
    if target.name_kind.group in {"fields", "parameters"}:
        value_type = list_names(target.project, target.name_kind).get(text)
        return f"```\n{text}: {value_type}\n```" if value_type else ""
    resource = resources(target.project, target.name_kind.group).get(text)
    return f"`{resource.file}`\n\n{describe(resource)}" if resource is not None else ""


def _own_step(target: CursorTarget, key: str) -> str:
    """Return the parameters and the result of a step of the project's own addon."""
    action = target.project.own_actions[key]
    lines = [
        f"  {name}{'?' if action.may_lack(name) else ''}: {value_type}"
        for name, value_type in action.parameters.items()
    ]
    signature = "\n".join(["```", f"{key}", *_shorten(lines), "```"])
    file = resources(target.project, OWN_STEPS)[key].file
    parts = [action.title, signature, _typed("gives", action.gives), f"`{file}`"]
    return "\n\n".join(filter(None, parts))


def _type(target: CursorTarget) -> str:
    """Return the entry of the type under the cursor, such as `text[]?`."""
    if target.spot.is_key or not isinstance(target.spot.value, str):
        return ""
    schema = schema_at(target.model, target.document.root, target.spot.path)
    entry = _entry("type", target.spot.value.rstrip("?").removesuffix("[]"))
    return as_markdown(entry) if schema.is_type and entry is not None else ""


def _key(target: CursorTarget) -> str:
    """Return the description of the key at the cursor, or of the key whose value is there."""
    path = target.spot.path
    while path and isinstance(path[-1], int):
        path = path[:-1]
    if not path:
        return ""
    root, key = target.document.root, str(path[-1])
    schema, parent = schema_at(target.model, root, path[:-1]), node_at(root, path[:-1])
    model = step_model(parent) if schema.is_step else schema.model
    if model is None or key not in fields(model) or schema.is_value:
        return ""
    return f"`{key}`: {describe_field(fields(model)[key], key)}\n\n{about_key(model, key)}"


# ---- Describe keys, filters and functions for an editor, in Markdown


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
