"""Complete the text at the cursor: keys, words, names in other files, parts of expressions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lsprotocol import types as lsp

from bbops.compiler.check import CheckedProject
from bbops.interfaces.lsp.cursor_scope import CursorScope, accepts_arrow, find_scope
from bbops.interfaces.lsp.hover import about_key, about_model, brief, describe_field
from bbops.interfaces.lsp.names import fields_of, list_names, list_relation_columns, name_kind_at
from bbops.interfaces.lsp.placeholder import (
    PLACEHOLDER,
    Placeholder,
    expression_in,
    insert_placeholder,
)
from bbops.interfaces.lsp.project import EditorProject, kind_of
from bbops.interfaces.lsp.schema import SchemaNode, fields, node_at, schema_at, step_model
from bbops.interfaces.lsp.text import SourceLines
from bbops.language.addons._base import kind as addon_kind
from bbops.language.addons._base import step_keys
from bbops.language.expressions.nodes import Filter, Literal, Member
from bbops.language.expressions.related import RELATED_WORDS, WINDOWS
from bbops.language.expressions.types import Type, fits
from bbops.language.reference import as_markdown, read_reference
from bbops.language.steps._aggregate import FUNCTIONS_OF
from bbops.language.steps._base import Step, step_kinds
from bbops.runtime.values.filters import FILTERS, FUNCTIONS

Kind = lsp.CompletionItemKind
TRIGGERS = [".", "|", "{", " ", "'", "/", ":", "-"]
_KEYWORDS = ("true", "false", "null", "and", "or", "not", "in", "if", "else")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggestion for completion: `insert` is the inserted text if it differs from the label."""

    label: str
    kind: Kind
    detail: str = ""
    doc: str = ""
    insert: str = ""


def complete(
    folder: EditorProject, path: str, lines: SourceLines, offset: int
) -> list[lsp.CompletionItem]:
    """Return the completions at an offset of a file, most likely first."""
    project, placeholder = folder.current(), insert_placeholder(lines, offset)
    kind_info = kind_of(path, placeholder.document.root) if placeholder is not None else None
    if kind_info is None or project is None or placeholder is None:
        return []
    kind, name, model = kind_info
    schema = schema_at(model, placeholder.document.root, placeholder.spot.path)
    expression = None
    if isinstance(placeholder.spot.value, str) and not placeholder.spot.is_key:
        expression = expression_in(placeholder.spot.value, is_bare=schema.is_bare)
    start = placeholder.start
    if expression is not None and (schema.is_bare or "${" in placeholder.spot.value):
        scope = find_scope(project, kind, name, placeholder, expression)
        suggestions = list(_in_expression(scope)) if scope else []
        suggestions += _of_groups(placeholder)
    elif placeholder.spot.is_key or (
        placeholder.spot.value == PLACEHOLDER and _begins_map(placeholder, schema, kind)
    ):
        suggestions = list(_keys(project, kind, name, model, placeholder, schema))
    else:
        start = _start_of_value(placeholder)
        suggestions = list(_values(project, kind, name, placeholder, schema))
    place = lines.range(start, offset)
    return [_item(suggestion, place, rank) for rank, suggestion in enumerate(suggestions)]


def _begins_map(placeholder: Placeholder, schema: SchemaNode, kind: str) -> bool:
    """Return whether the word alone on its line can become the first key of a map."""
    mark = placeholder.spot.mark
    before = placeholder.document.source[mark.start - mark.column + 1 : mark.start]
    name_kind = name_kind_at(
        kind, "", placeholder.document.root, (*placeholder.spot.path, PLACEHOLDER), is_key=True
    )
    has_names = name_kind is not None and name_kind.group == "parameters"
    return (schema.is_step or schema.model is not None or has_names) and ":" not in before


def _item(suggestion: Suggestion, place: lsp.Range, rank: int) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        label=suggestion.label,
        kind=suggestion.kind,
        detail=suggestion.detail or None,
        documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, suggestion.doc)
        if suggestion.doc
        else None,
        sort_text=f"{rank:04}",
        text_edit=lsp.TextEdit(place, suggestion.insert or suggestion.label),
    )


# ---- keys
def _keys(
    project: CheckedProject,
    kind: str,
    name: str,
    model: Any,
    placeholder: Placeholder,
    schema: SchemaNode,
) -> Iterator[Suggestion]:
    root = placeholder.document.root
    if placeholder.spot.is_key:
        path = placeholder.spot.path[:-1]
        schema, parent = schema_at(model, root, path), node_at(root, path)
    else:
        path, parent = placeholder.spot.path, {}
    present = {key for key in parent if key != PLACEHOLDER} if isinstance(parent, dict) else set()
    has_colon = placeholder.document.source[placeholder.spot.mark.end :].lstrip(" ")[:1] == ":"
    has_colon = has_colon and placeholder.spot.value == PLACEHOLDER
    after = "" if placeholder.spot.is_key and has_colon and not _is_new(placeholder) else ": "
    name_kind = name_kind_at(kind, name, root, (*path, PLACEHOLDER), is_key=True)
    for label, detail in list_names(project, name_kind).items() if name_kind else ():
        if label not in present:
            yield Suggestion(label, Kind.Field, detail, insert=label + after)
    if schema.is_step:
        yield from _step_keys(project, parent, present, after)
    elif schema.model is not None:
        yield from _model_keys(schema.model, present, after)


def _is_new(placeholder: Placeholder) -> bool:
    """Return whether the colon after the placeholder was inserted with it."""
    return placeholder.document.source[placeholder.spot.mark.end :].startswith((":\n", ": 0")) or (
        placeholder.spot.mark.end + 1 == len(placeholder.document.source)
    )  # fmt: skip


def _model_keys(model: Any, present: set[str], after: str) -> Iterator[Suggestion]:
    for key, field in fields(model).items():
        if key not in present:
            text = about_key(model, key)
            detail = describe_field(field, key).replace("`", "")
            yield Suggestion(key, Kind.Property, detail, text, insert=key + after)


def _step_keys(
    project: CheckedProject, node: Any, present: set[str], after: str
) -> Iterator[Suggestion]:  # fmt: skip
    kind = step_model(node)
    if kind is not None:
        yield from _model_keys(kind, present, after)
        return
    for key, step in step_kinds().items():
        yield Suggestion(key, Kind.Function, step.title, about_model(step), insert=key + after)
    enabled = {name for name, addon in project.addons.items() if addon.model.enabled}
    for key, action in project.own_actions.items():
        if key.partition(".")[0] in enabled:
            yield Suggestion(key, Kind.Function, action.title or "addon", insert=key + after)
    for key in step_keys():
        if key.partition(".")[0] in enabled:
            detail, text = _of_addon(key)
            yield Suggestion(key, Kind.Function, detail, text, key + after)
    yield from _model_keys(Step, present, after)


def _of_addon(key: str) -> tuple[str, str]:
    """Return the service that a step calls, and the description of its addon."""
    kind = addon_kind(key.partition(".")[0])
    return (kind.service or "addon", kind.about) if kind is not None else ("addon", "")


# ---- values
def _start_of_value(placeholder: Placeholder) -> int:
    """Return the start of the text around the cursor, for names with '/', '-' or '.'."""
    before = (
        placeholder.spot.value.index(PLACEHOLDER) if isinstance(placeholder.spot.value, str) else 0
    )
    return placeholder.start - before


def _values(
    project: CheckedProject, kind: str, name: str, placeholder: Placeholder, schema: SchemaNode
) -> Iterator[Suggestion]:
    types = read_reference()["type"] if schema.is_type else {}
    for option in schema.options:
        entry = types.get(option)
        yield Suggestion(
            option, Kind.EnumMember, entry.signature if entry else "",
            as_markdown(entry) if entry else "",
        )  # fmt: skip
    root, path = placeholder.document.root, placeholder.spot.path
    name_kind = name_kind_at(kind, name, root, path, is_key=False)
    if name_kind is None:
        return
    is_order = "orderBy" in path
    item_kind = (
        Kind.Field if name_kind.group in {"columns", "references", "like"} else Kind.Reference
    )
    options = list_names(project, name_kind) | (
        list_relation_columns(project, name_kind) if is_order else {}
    )
    for label, detail in options.items():
        yield Suggestion(
            label, item_kind, detail if item_kind is Kind.Field else name_kind.group, detail
        )
        if is_order:
            yield Suggestion(f"{label}.desc", item_kind, detail)


# ---- expressions
def _in_expression(scope: CursorScope) -> Iterator[Suggestion]:
    node = scope.node
    if isinstance(node, Filter) and node.name == PLACEHOLDER:
        yield from _filters(scope.input_type)
    elif isinstance(node, Filter):
        yield from _arrows(node)
        yield from _named_fields(node, scope.input_type)
        if any(getattr(arg, "name", None) == PLACEHOLDER for arg in node.args):
            yield from _names(scope)
    elif isinstance(node, Member):
        is_vars = getattr(node.of, "name", "") == "vars" and not isinstance(node.of, Member)
        members = scope.variables if is_vars else fields_of(scope.input_type)
        yield from _typed(members, Kind.Variable if is_vars else Kind.Field)
    else:
        yield from _names(scope)


def _names(scope: CursorScope) -> Iterator[Suggestion]:
    yield from _typed(scope.columns, Kind.Field)
    yield from _of_relations(scope.many)
    yield from _of_queries(WINDOWS if scope.windows else {})
    yield from _typed(scope.roots, Kind.Variable)
    yield Suggestion("vars", Kind.Variable, "results of steps, and variables")
    for name, function in FUNCTIONS.items():
        call = f"{name}(" if function.most else f"{name}()"
        entry = read_reference()["function"][name]
        yield Suggestion(name, Kind.Function, entry.signature, brief(entry), call)
    operators = read_reference()["operator"]
    for word in _KEYWORDS:
        operator = operators.get(word)
        texts = (operator.signature, brief(operator)) if operator else ()
        yield Suggestion(word, Kind.Keyword, *texts)


def _of_relations(relations: Collection[str]) -> Iterator[Suggestion]:
    for name in relations:
        yield Suggestion(name, Kind.Reference, "rows that refer to this one")
    yield from _of_queries(RELATED_WORDS if relations else {})


def _of_queries(words: Mapping[str, str]) -> Iterator[Suggestion]:
    """Yield the functions of queries, with the signature for this place."""
    entries = read_reference()["function"]
    for name, signature in words.items():
        yield Suggestion(name, Kind.Function, signature, entries[name].summary, f"{name}(")


def _of_groups(placeholder: Placeholder) -> list[Suggestion]:
    """Return the functions for `values` in `aggregate`, if the cursor is at the start of one."""
    is_value = placeholder.spot.path[-3:-1] == ("aggregate", "values")
    if not is_value or str(placeholder.spot.value) != PLACEHOLDER:
        return []
    return list(_of_queries(FUNCTIONS_OF))


def _typed(types: Mapping[str, Type], kind: Kind) -> Iterator[Suggestion]:
    for name, value_type in types.items():
        detail = f"{value_type} (private)" if value_type.private else str(value_type)
        yield Suggestion(name, kind, detail)


def _filters(input_type: Type | None) -> Iterator[Suggestion]:
    for name, definition in FILTERS.items():
        if input_type is None or any(fits(input_type, kind) for kind in definition.takes.split()):
            insert = f"{name}(" if definition.least else name
            entry = read_reference()["filter"][name]
            yield Suggestion(name, Kind.Method, entry.signature, brief(entry), insert)


def _arrows(node: Filter) -> Iterator[Suggestion]:
    """Yield the beginning of an arrow function if the filter accepts one."""
    if accepts_arrow(node, len(node.args) - 1):
        yield Suggestion("row => …", Kind.Snippet, "an arrow function", insert="row => row.")


def _named_fields(node: Filter, input_type: Type | None) -> Iterator[Suggestion]:
    if node.name not in {"pick", "omit", "pluck", "has", "sort"}:
        return
    present = {arg.value for arg in node.args if isinstance(arg, Literal)}
    is_list = input_type is not None and input_type.kind == "list"
    row = input_type.item if input_type is not None and is_list else input_type
    rest = {name: field for name, field in fields_of(row).items() if name not in present}
    yield from _typed(rest, Kind.Field)
