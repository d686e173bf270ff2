"""What may be typed at the cursor: keys, words, names of other files, parts of expressions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lsprotocol import types as lsp

from bbops.build.check import CheckedProject
from bbops.interfaces.lsp.descriptions import about_key, about_model, brief, written
from bbops.interfaces.lsp.folder import Folder, kind_of
from bbops.interfaces.lsp.names import fields_of, known, known_of_relations, named_at
from bbops.interfaces.lsp.repair import WORD, Repaired, expression_in, repair
from bbops.interfaces.lsp.scopes import Here, look, takes_arrow
from bbops.interfaces.lsp.slots import Slot, fields, node_at, slot_at, step_model
from bbops.interfaces.lsp.text import Lines
from bbops.language.addons._base import kind as addon_kind
from bbops.language.addons._base import step_keys
from bbops.language.expressions.nodes import Filter, Literal, Member
from bbops.language.expressions.related import RELATED_WORDS
from bbops.language.expressions.types import Type, fits
from bbops.language.expressions.windows import WINDOWS
from bbops.language.reference import as_markdown, read_reference
from bbops.language.steps._aggregate import FUNCTIONS_OF
from bbops.language.steps._base import Step, step_kinds
from bbops.runtime.values.filters import FILTERS, FUNCTIONS

Kind = lsp.CompletionItemKind
TRIGGERS = [".", "|", "{", " ", "'", "/", ":", "-"]
_KEYWORDS = ("true", "false", "null", "and", "or", "not", "in", "if", "else")


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing to type: `insert` where it is more than its label."""

    label: str
    kind: Kind
    detail: str = ""
    doc: str = ""
    insert: str = ""


def complete(folder: Folder, path: str, lines: Lines, offset: int) -> list[lsp.CompletionItem]:
    """Return what may stand at an offset of a file, the likeliest first."""
    project, at = folder.current(), repair(lines, offset)
    what = kind_of(path, at.document.root) if at is not None else None
    if what is None or project is None or at is None:
        return []
    kind, name, model = what
    slot = slot_at(model, at.document.root, at.spot.path)
    expression = None
    if isinstance(at.spot.value, str) and not at.spot.is_key:
        expression = expression_in(at.spot.value, is_bare=slot.is_bare)
    start = at.start
    if expression is not None and (slot.is_bare or "${" in at.spot.value):
        here = look(project, kind, name, at, expression)
        offers = list(_in_expression(here)) if here else []
        offers += _of_groups(at)
    elif at.spot.is_key or (at.spot.value == WORD and _begins_map(at, slot, kind)):
        offers = list(_keys(project, kind, name, model, at, slot))
    else:
        start = _start_of_value(at)
        offers = list(_values(project, kind, name, at, slot))
    place = lines.range(start, offset)
    return [_item(one, place, rank) for rank, one in enumerate(offers)]


def _begins_map(at: Repaired, slot: Slot, kind: str) -> bool:
    """Return whether the word alone on its line may become the first key of a map."""
    mark = at.spot.mark
    before = at.document.source[mark.start - mark.column + 1 : mark.start]
    named = named_at(kind, "", at.document.root, (*at.spot.path, WORD), is_key=True)
    has_names = named is not None and named.group == "parameters"
    return (slot.is_step or slot.model is not None or has_names) and ":" not in before


def _item(offer: Offer, place: lsp.Range, rank: int) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        label=offer.label,
        kind=offer.kind,
        detail=offer.detail or None,
        documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, offer.doc) if offer.doc else None,
        sort_text=f"{rank:04}",
        text_edit=lsp.TextEdit(place, offer.insert or offer.label),
    )


# ---- keys
def _keys(
    project: CheckedProject, kind: str, name: str, model: Any, at: Repaired, slot: Slot
) -> Iterator[Offer]:
    root = at.document.root
    if at.spot.is_key:
        path = at.spot.path[:-1]
        slot, around = slot_at(model, root, path), node_at(root, path)
    else:
        path, around = at.spot.path, {}
    given = {key for key in around if key != WORD} if isinstance(around, dict) else set()
    has_colon = at.document.source[at.spot.mark.end :].lstrip(" ")[:1] == ":"
    has_colon = has_colon and at.spot.value == WORD
    after = "" if at.spot.is_key and has_colon and not _is_new(at) else ": "
    named = named_at(kind, name, root, (*path, WORD), is_key=True)
    for label, detail in known(project, named).items() if named else ():
        if label not in given:
            yield Offer(label, Kind.Field, detail, insert=label + after)
    if slot.is_step:
        yield from _step_keys(project, around, given, after)
    elif slot.model is not None:
        yield from _model_keys(slot.model, given, after)


def _is_new(at: Repaired) -> bool:
    """Return whether the colon behind the stand-in came with it."""
    return at.document.source[at.spot.mark.end :].startswith((":\n", ": 0")) or (
        at.spot.mark.end + 1 == len(at.document.source)
    )  # fmt: skip


def _model_keys(model: Any, given: set[str], after: str) -> Iterator[Offer]:
    for key, field in fields(model).items():
        if key not in given:
            text = about_key(model, key)
            detail = written(field, key).replace("`", "")
            yield Offer(key, Kind.Property, detail, text, insert=key + after)


def _step_keys(
    project: CheckedProject, node: Any, given: set[str], after: str
) -> Iterator[Offer]:  # fmt: skip
    kind = step_model(node)
    if kind is not None:
        yield from _model_keys(kind, given, after)
        return
    for key, step in step_kinds().items():
        yield Offer(key, Kind.Function, step.title, about_model(step), insert=key + after)
    enabled = {name for name, one in project.addons.items() if one.model.enabled}
    for key, action in project.own_actions.items():
        if key.partition(".")[0] in enabled:
            yield Offer(key, Kind.Function, action.title or "addon", insert=key + after)
    for key in step_keys():
        if key.partition(".")[0] in enabled:
            detail, text = _of_addon(key)
            yield Offer(key, Kind.Function, detail, text, key + after)
    yield from _model_keys(Step, given, after)


def _of_addon(key: str) -> tuple[str, str]:
    """Return the service that a step calls, and the text of its addon."""
    kind = addon_kind(key.partition(".")[0])
    return (kind.service or "addon", kind.about) if kind is not None else ("addon", "")


# ---- values
def _start_of_value(at: Repaired) -> int:
    """Return where the text that the cursor is in begins, for names with '/', '-' or '.'."""
    before = at.spot.value.index(WORD) if isinstance(at.spot.value, str) else 0
    return at.start - before


def _values(
    project: CheckedProject, kind: str, name: str, at: Repaired, slot: Slot
) -> Iterator[Offer]:
    types = read_reference()["type"] if slot.is_type else {}
    for option in slot.options:
        entry = types.get(option)
        yield Offer(
            option, Kind.EnumMember, entry.signature if entry else "",
            as_markdown(entry) if entry else "",
        )  # fmt: skip
    root, path = at.document.root, at.spot.path
    named = named_at(kind, name, root, path, is_key=False)
    if named is None:
        return
    is_order = "orderBy" in path
    of = Kind.Field if named.group in {"columns", "references", "like"} else Kind.Reference
    options = known(project, named) | (known_of_relations(project, named) if is_order else {})
    for label, detail in options.items():
        yield Offer(label, of, detail if of is Kind.Field else named.group, detail)
        if is_order:
            yield Offer(f"{label}.desc", of, detail)


# ---- expressions
def _in_expression(here: Here) -> Iterator[Offer]:
    node = here.node
    if isinstance(node, Filter) and node.name == WORD:
        yield from _filters(here.of)
    elif isinstance(node, Filter):
        yield from _arrows(node)
        yield from _named_fields(node, here.of)
        if any(getattr(arg, "name", None) == WORD for arg in node.args):
            yield from _names(here)
    elif isinstance(node, Member):
        is_vars = getattr(node.of, "name", "") == "vars" and not isinstance(node.of, Member)
        found = here.variables if is_vars else fields_of(here.of)
        yield from _typed(found, Kind.Variable if is_vars else Kind.Field)
    else:
        yield from _names(here)


def _names(here: Here) -> Iterator[Offer]:
    yield from _typed(here.columns, Kind.Field)
    yield from _of_related(here.many)
    yield from _of_queries(WINDOWS if here.windows else {})
    yield from _typed(here.roots, Kind.Variable)
    yield Offer("vars", Kind.Variable, "results of steps, and variables")
    for name, function in FUNCTIONS.items():
        call = _called(name, function.most)
        entry = read_reference()["function"][name]
        yield Offer(name, Kind.Function, entry.signature, brief(entry), call)
    operators = read_reference()["operator"]
    for word in _KEYWORDS:
        known = operators.get(word)
        text = (known.signature, brief(known)) if known else ()
        yield Offer(word, Kind.Keyword, *text)


def _of_related(relations: Collection[str]) -> Iterator[Offer]:
    for name in relations:
        yield Offer(name, Kind.Reference, "rows that refer to this one")
    yield from _of_queries(RELATED_WORDS if relations else {})


def _of_queries(words: Mapping[str, str]) -> Iterator[Offer]:
    """Yield functions that queries have, with how each is written in this place."""
    entries = read_reference()["function"]
    for name, signature in words.items():
        yield Offer(name, Kind.Function, signature, entries[name].summary, f"{name}(")


def _of_groups(at: Repaired) -> list[Offer]:
    """Return the functions of `values` in `aggregate`, where the cursor is at their beginning."""
    is_value = at.spot.path[-3:-1] == ("aggregate", "values")
    if not is_value or str(at.spot.value) != WORD:
        return []
    return list(_of_queries(FUNCTIONS_OF))


def _called(name: str, most: int) -> str:
    return f"{name}(" if most else f"{name}()"


def _typed(names: Any, kind: Kind) -> Iterator[Offer]:
    for name, of in names.items():
        yield Offer(name, kind, f"{of} (private)" if of.private else str(of))


def _filters(of: Type | None) -> Iterator[Offer]:
    for name, one in FILTERS.items():
        if of is None or any(fits(of, kind) for kind in one.takes.split()):
            insert = f"{name}(" if one.least else name
            entry = read_reference()["filter"][name]
            yield Offer(name, Kind.Method, entry.signature, brief(entry), insert)


def _arrows(node: Filter) -> Iterator[Offer]:
    """Yield the begin of an arrow function where the filter takes one."""
    if takes_arrow(node, len(node.args) - 1):
        yield Offer("row => …", Kind.Snippet, "an arrow function", insert="row => row.")


def _named_fields(node: Filter, of: Type | None) -> Iterator[Offer]:
    if node.name not in {"pick", "omit", "pluck", "has", "sort"}:
        return
    given = {one.value for one in node.args if isinstance(one, Literal)}
    whole = of.item if of is not None and of.kind == "list" else of
    rest = {name: one for name, one in fields_of(whole).items() if name not in given}
    yield from _typed(rest, Kind.Field)
