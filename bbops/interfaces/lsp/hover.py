"""What an editor shows of the thing under the mouse: its type, its meaning, an example."""

from __future__ import annotations

from lsprotocol import types as lsp

from bbops.interfaces.lsp.descriptions import about_key, brief, written
from bbops.interfaces.lsp.folder import Folder
from bbops.interfaces.lsp.names import OWN_STEPS, describe, known, resources
from bbops.interfaces.lsp.pointed import Pointed, point
from bbops.interfaces.lsp.slots import fields, node_at, slot_at, step_model
from bbops.interfaces.lsp.spots import start_of
from bbops.interfaces.lsp.text import Lines
from bbops.language.expressions.nodes import (
    Binary,
    Call,
    Choice,
    Compare,
    Filter,
    Index,
    Literal,
    Logic,
    Member,
    Name,
    Node,
    Unary,
)
from bbops.language.expressions.related import RELATED_WORDS
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Expression
from bbops.language.expressions.windows import WINDOWS
from bbops.language.reference import Entry, Group, as_markdown, read_reference
from bbops.language.steps._aggregate import FUNCTIONS_OF

_MOST_FIELDS = 30
_OF_ROWS = {**RELATED_WORDS, **WINDOWS}


def explain(folder: Folder, path: str, lines: Lines, offset: int) -> lsp.Hover | None:
    """Return what is known of the thing at an offset of a file; None for nothing."""
    at = point(folder, path, lines, offset)
    if at is None:
        return None
    text = _expression(at) if at.node is not None else _name(at) or _type(at) or _key(at)
    if not text:
        return None
    start, end = at.spot.mark.start, at.spot.mark.end
    if at.node is not None:
        first, last = _extent(at.node)
        start = start_of(at.document, lines, at.spot.mark, first)
        end = start_of(at.document, lines, at.spot.mark, last)
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
    return lsp.Hover(content, lines.range(start, end))


def _extent(node: Node) -> tuple[int, int]:
    """Return the part of a node that is its own."""
    if isinstance(node, Filter):
        return node.name_start, node.name_start + len(node.name)
    return node.start, node.end


# ---- expressions
def _expression(at: Pointed) -> str:
    node = at.node
    if isinstance(node, Filter) and (known := _known("filter", node.name)):
        is_name = node.name_start <= at.offset <= node.name_start + len(node.name)
        return _documented(known) if is_name else _typed("", at.type_of(node))
    if isinstance(node, Call) and node.name in {**FUNCTIONS_OF, **RELATED_WORDS, **WINDOWS}:
        is_value = "values" in at.spot.path and "aggregate" in at.spot.path
        words = FUNCTIONS_OF if is_value and node.name in FUNCTIONS_OF else _OF_ROWS
        known = _known("function", node.name)
        return _documented(known, words[node.name]) if known and node.name in words else ""
    if isinstance(node, Call) and (known := _known("function", node.name)):
        return _documented(known)
    if isinstance(node, Literal) or node is None:
        return ""
    if known := _known("operator", _operator(node)):
        return "\n\n".join(filter(None, [_typed("", at.type_of(node)), _documented(known)]))
    name = node.name if isinstance(node, Name | Member) else ""
    column = at.column()
    return "\n\n".join(filter(None, [_typed(name, at.type_of(node)), _column(at, column)]))


def _operator(node: Node) -> str:
    """Return the operator that a node is written with; empty for other nodes."""
    if isinstance(node, Binary | Compare | Logic | Unary):
        return node.op
    if isinstance(node, Choice):
        return "if"
    return "[]" if isinstance(node, Index) else ""


def _known(group: Group, name: str) -> Entry | None:
    return read_reference()[group].get(name)


def _documented(entry: Entry, signature: str = "") -> str:
    """Return an entry of the reference, with its signature or another one for this place."""
    return f"```\n{signature or entry.signature}\n```\n{brief(entry)}"


def _typed(name: str, of: Type | None) -> str:
    """Return a type in a code block, a map with its fields."""
    if of is None or of.is_never:
        return ""
    head = f"{name}: {of}" if name else str(of)
    if of.what and of.what != name:
        head += f"  ({of.what})"
    whole = of.item if of.kind == "list" and of.item is not None else of
    lines = [f"  {key}: {one}{_private(one)}" for key, one in (whole.fields or {}).items()]
    if len(lines) > _MOST_FIELDS:
        lines = [*lines[:_MOST_FIELDS], "  …"]
    return "\n".join(["```", head + _private(of), *lines, "```"])


def _private(of: Type) -> str:
    return "  (private)" if of.private else ""


# ---- names and keys
def _column(at: Pointed, column: tuple[str, str] | None) -> str:
    if column is None or column[0] not in at.project.tables:
        return ""
    table, name = column
    model = at.project.tables[table].model
    found = {**model.columns, **model.computed}.get(name)
    if found is None:
        return ""
    said = found.model_dump(by_alias=True, exclude_defaults=True, exclude={"description"})
    if isinstance(found.computed, Expression):
        of = at.project.sql_tables[table].columns[name].value_type
        said = {"type": of, "computed": found.computed.text, **said}
    text = ", ".join(f"{key}: {_yaml(value)}" for key, value in said.items())
    return "\n\n".join(filter(None, [f"`{table}.{name}` — {text}", found.description]))


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _name(at: Pointed) -> str:
    if at.named is None:
        return ""
    if column := at.column():
        return _column(at, column)
    if at.named.group == OWN_STEPS and str(at.spot.value) in at.project.own_actions:
        return _own_step(at, str(at.spot.value))
    if at.named.group in {"fields", "parameters"}:
        taken = known(at.project, at.named).get(str(at.spot.value))
        return f"```\n{at.spot.value}: {taken}\n```" if taken else ""
    found = resources(at.project, at.named.group).get(str(at.spot.value))
    return f"`{found.file}`\n\n{describe(found)}" if found is not None else ""


def _own_step(at: Pointed, key: str) -> str:
    """Return what a step of the project's own addon takes and gives."""
    action = at.project.own_actions[key]
    lines = [
        f"  {name}{'?' if action.may_lack(name) else ''}: {of}"
        for name, of in action.parameters.items()
    ]
    if len(lines) > _MOST_FIELDS:
        lines = [*lines[:_MOST_FIELDS], "  …"]
    told = "\n".join(["```", f"{key}", *lines, "```"])
    file = resources(at.project, OWN_STEPS)[key].file
    parts = [action.title, told, _typed("gives", action.gives), f"`{file}`"]
    return "\n\n".join(filter(None, parts))


def _type(at: Pointed) -> str:
    """Return the entry of the type under the cursor, such as `text[]?`."""
    if at.spot.is_key or not isinstance(at.spot.value, str):
        return ""
    slot = slot_at(at.model, at.document.root, at.spot.path)
    known = _known("type", at.spot.value.rstrip("?").removesuffix("[]"))
    return as_markdown(known) if slot.is_type and known is not None else ""


def _key(at: Pointed) -> str:
    """Return what the key means at which the cursor stands, or whose value it stands in."""
    path = at.spot.path
    while path and isinstance(path[-1], int):
        path = path[:-1]
    if not path:
        return ""
    root, key = at.document.root, str(path[-1])
    slot, around = slot_at(at.model, root, path[:-1]), node_at(root, path[:-1])
    model = step_model(around) if slot.is_step else slot.model
    if model is None or key not in fields(model) or slot.is_value:
        return ""
    return f"`{key}`: {written(fields(model)[key], key)}\n\n{about_key(model, key)}"
