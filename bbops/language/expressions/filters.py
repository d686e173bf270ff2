"""Filters and functions in the check: the types of their arguments and results."""

from __future__ import annotations

from dataclasses import replace

from bbops.base.diagnostics import did_you_mean, suggest
from bbops.language.expressions import nodes as s
from bbops.language.expressions import types as t
from bbops.language.expressions.arrows import arrow_result, check_arrows, check_members
from bbops.language.expressions.checks import Checks
from bbops.language.expressions.constants import check_constants, warn_of_letters
from bbops.language.expressions.operations import refuse_guess
from bbops.language.expressions.types import Type
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.filters import FILTERS, FUNCTIONS
from bbops.runtime.values.regex import compile_pattern

_GIVES = {
    "text": t.TEXT, "number": t.NUMBER, "integer": t.INTEGER, "boolean": t.BOOLEAN,
    "datetime": t.DATETIME, "any": t.ANY, "map": Type("map"), "list": t.list_of(t.ANY),
}  # fmt: skip
ARGUMENTS = {
    "slice": ("integer", "integer?"), "replace": ("text", "text"), "split": ("text",),
    "join": ("text",), "startsWith": ("text",), "endsWith": ("text",), "matches": ("text",),
    "sort": ("text?", "text"), "pluck": ("text",), "round": ("integer",), "min": ("number",),
    "max": ("number",), "divide": ("number", "integer"),
    "clamp": ("number", "number"), "date": ("text", "text"),
    "add": ("text number", "text"), "difference": ("datetime date", "text", "text"),
    "startOf": ("text", "text"), "has": ("text",), "omit": ("text list",), "pick": ("text list",),
    "merge": ("map",), "zip": ("list",), "chunk": ("integer",), "findAll": ("text",),
    "replaceAll": ("text", "text"), "format": ("text",), "hmac": ("text bytes",),
    "range": ("integer",), "randomToken": ("integer",), "random": ("integer", "integer"),
}  # fmt: skip
"""The kinds of the arguments, the last for all that follow; `?` accepts null too."""

_CONVERTS = {"toNumber": "number", "toBoolean": "boolean", "toDatetime": "datetime"}
"""Filters that return null for other text."""

_BY_NAME = frozenset({"pick", "omit", "pluck", "has", "sort"})
"""Filters whose arguments are names of fields."""

_HASHES = frozenset({"hmac", "sha256"})
"""Filters whose result does not reveal the value, so it may be compared."""

_CHOOSES = frozenset({"min", "max", "clamp"})
"""Filters that return their value or one of their arguments."""

_TYPED_AS = {
    "int": "toNumber", "float": "toNumber", "number": "toNumber", "str": "toString",
    "string": "toString", "tojson": "json", "size": "length", "count": "length",
    "downcase": "lower", "upcase": "upper", "strip": "trim", "if_null": "default",
    "len": "length", "date_format": "date", "to_json": "json", "from_json": "parseJson",
    "coalesce": "default", "concat": "join", "substring": "slice", "includes": "contains",
    "toUpperCase": "upper", "toLowerCase": "lower", "toInt": "toNumber", "parseInt": "toNumber",
    "formatDate": "date", "fromJson": "parseJson", "truncate": "slice",
}  # fmt: skip

_PATTERNS = frozenset({"matches", "findAll", "replaceAll"})

_LISTED = "'bbops explain unknown-filter' lists the filters"


def check_filter(at: Checks, node: s.Filter) -> Type:
    """Report the mistakes of `value | name(args)` and return the type of its result."""
    of, known = at.infer(node.of), FILTERS.get(node.name)
    args, facts = check_arrows(at, node, of)
    if known is None:
        usual = _TYPED_AS.get(node.name)
        near = did_you_mean(node.name, usual) if usual else suggest(node.name, FILTERS)
        message = f"unknown filter '{node.name}'"
        return at.wrong(node.name_start, "unknown-filter", message, near or _LISTED, hides=of.hides)
    _check_count(at, node, node.name_start, known.least, known.most)
    _check_pattern(at, node)
    wanted = known.takes.split()
    if not any(t.fits(of, kind) for kind in wanted):
        message = f"filter '{node.name}' needs {' or '.join(wanted)}, got {of}"
        cure = "write '(value | toString)'" if t.fits(of, "number") and "text" in wanted else ""
        return at.wrong_type(node.name_start, message, cure, node.of, hides=of.hides)
    if not known.accepts_null:
        of = at.without_null(node.of, of, f"filter '{node.name}'")
    kinds = ("text",) if node.name == "contains" and of.kind == "text" else None
    args = _check_arguments(at, node, args, kinds or ARGUMENTS.get(node.name, ()))
    if known.least <= len(args) <= known.most and t.NEVER not in args:
        check_constants(at, node, of)
    if _has_wrong_members(at, node, of) or check_members(at, node, of) or _misnames(at, node, of):
        return t.mistaken(hides=of.hides)
    warn_of_letters(at, node)
    if known.gives == "boolean" and args:
        refuse_guess(at, node.of, of, node.args[0], args[0])
    found = arrow_result(node, of, args, facts) or _filtered(node, of, args, known.gives)
    return replace(found, what="") if node.name in _HASHES and t.is_secret(found) else found


def check_call(at: Checks, node: s.FunctionCall) -> Type:
    """Report the mistakes of `name(args)` and return the type of its result."""
    known = FUNCTIONS.get(node.name)
    if known is None:
        usual = node.name if node.name in FILTERS else _TYPED_AS.get(node.name)
        hint = f"write 'value | {usual}'" if usual else suggest(node.name, FUNCTIONS)
        message = f"unknown function '{node.name}'"
        return at.wrong(node.start, "unknown-function-call", message, hint)
    args = [at.infer(arg) for arg in node.args]
    _check_count(at, node, node.start, known.least, known.most)
    args = _check_arguments(at, node, args, ARGUMENTS.get(node.name, ()))
    found = t.list_of(t.INTEGER) if known.gives == "list" else _GIVES[known.gives]
    return t.concealed(found, by=args)


def _check_count(
    at: Checks, node: s.Filter | s.FunctionCall, place: int, least: int, most: int
) -> None:
    if not least <= len(node.args) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        kind = "filter" if isinstance(node, s.Filter) else "function"
        word = "argument" if wanted == "1" else "arguments"
        message = f"{kind} '{node.name}' takes {wanted} {word}, got {len(node.args)}"
        at.wrong(place, "argument-count", message)


def _check_arguments(
    at: Checks, node: s.Filter | s.FunctionCall, args: list[Type], kinds: tuple[str, ...]
) -> list[Type]:
    found = []
    for place, (arg, of) in enumerate(zip(node.args, args, strict=True)):
        wanted = kinds[min(place, len(kinds) - 1)] if kinds else "any?"
        words = wanted.rstrip("?").split()
        if isinstance(arg, s.Arrow):
            found.append(of)
        elif not any(t.fits(of, kind) for kind in words):
            message = f"'{node.name}' needs {' or '.join(words)} here, got {of}"
            found.append(at.wrong(arg.start, "type", message, hides=of.hides))
        elif wanted.endswith("?"):
            found.append(of)
        else:
            found.append(at.without_null(arg, of, f"'{node.name}'"))
    return found


def _check_pattern(at: Checks, node: s.Filter) -> None:
    """Compile a constant regular expression now, so that no request meets an invalid one."""
    if node.name not in _PATTERNS or not node.args or not isinstance(node.args[0], s.Literal):
        return
    try:
        compile_pattern(str(node.args[0].value))
    except FlowError as problem:
        at.wrong(
            node.args[0].start, "bad-pattern", problem.message,
            "patterns are RE2: no look-around, no back-references",
        )  # fmt: skip


def _has_wrong_members(at: Checks, node: s.Filter, of: Type) -> bool:
    if of.item is None or node.name not in {"join", "pluck"}:
        return False
    if t.may_be_null(of.item):
        message = f"members of this list may be null, and '{node.name}' takes no null"
        at.wrong(node.name_start, "maybe-null", message, "leave them out with a loop and 'where'")
        return True
    is_wrong = of.item.kind in {"list", "map", "binary"} if node.name == "join" else False
    if is_wrong:
        at.wrong(node.name_start, "type", f"'join' needs a list of texts, got {of}")
    return is_wrong


def _misnames(at: Checks, node: s.Filter, of: Type) -> bool:
    """Report the name of a field that is missing in a map."""
    whole = of.item if of.kind == "list" else of
    if node.name not in _BY_NAME or whole is None or whole.fields is None or whole.rest:
        return False
    if node.name == "has" and whole.what == t.ANSWER:
        return False  # a test may well ask that a field is not there
    args = node.args[:1] if node.name == "sort" else node.args
    for name in _literals(args):
        if str(name.value) not in whole.fields and name.value is not None:
            what = whole.what or "this map"
            kind = "column" if what.startswith("table ") else "field"
            message = f"{what} has no {kind} '{name.value}'"
            at.wrong(name.start, f"unknown-{kind}", message, suggest(str(name.value), whole.fields))
            return True
    return False


def _literals(args: tuple[s.Node, ...]) -> list[s.Literal]:
    inner = [item for arg in args for item in (arg.items if isinstance(arg, s.ListOf) else (arg,))]
    return [item for item in inner if isinstance(item, s.Literal)]


def _chosen(node: s.Filter) -> list[str] | None:
    """Return the names that a filter got; None if they are computed."""
    count = sum(len(arg.items) if isinstance(arg, s.ListOf) else 1 for arg in node.args)
    names = [str(literal.value) for literal in _literals(node.args)]
    return names if len(names) == count else None


def _filtered(node: s.Filter, of: Type, args: list[Type], gives: str) -> Type:
    """Return the type of a filter's result; private values stay private, in whatever form."""
    name = node.name
    if name in _CONVERTS:
        found = t.concealed(_converted(of, _CONVERTS[name]), by=[of])
        return found.not_null() if _is_convertible(node) else found
    if name == "default" and args:
        given = of.not_null()
        return args[0] if of.kind == "null" else t.either_way(node.of, given, node.args[0], args[0])
    if of.kind == "map" and (kept := _map(node, of, args)) is not None:
        return kept
    if name == "pluck" and of.item and of.item.fields and (chosen := _chosen(node)):
        member = of.item.fields.get(chosen[0], of.item.rest or t.ANY)
        return t.concealed(t.list_of(member), by=[of] if of.private else [])
    if name == "divide" or (name == "round" and of.kind == "decimal"):
        return t.concealed(Type("decimal"), by=[of, *args])
    if name in _CHOOSES:
        return t.joined([of, *args]).not_null()
    if gives == "same":
        return replace(of.not_null(), options=(), form="")
    if gives == "item":
        return t.concealed((of.item or t.ANY).or_null(), by=[of] if of.private else [])
    if name == "length":  # how many members a list has tells none of them
        return t.concealed(t.INTEGER, by=[of] if of.private else [])
    found = t.list_of(t.TEXT) if name == "split" else _GIVES[gives]
    if name == "join" and of.item is not None and of.item.is_html and _is_markup(node, args):
        found = t.HTML
    return t.concealed(found, by=[of, *args])


def _is_markup(node: s.Filter, args: list[Type]) -> bool:
    """Return whether the separator of `join` is the author's own text."""
    given = zip(node.args, args, strict=True)
    return all(isinstance(arg, s.Literal) or of.is_html for arg, of in given)


def _converted(of: Type, kind: str) -> Type:
    """Return the type of a conversion, which never fails for a value of that kind."""
    if of.kind in {"any", "text", "null"}:
        return _GIVES[kind].or_null()
    found = of if of.kind == "integer" else _GIVES[kind]
    return found.or_null() if of.nullable else found.not_null()


def _is_convertible(node: s.Filter) -> bool:
    """Return whether the conversion accepts a constant text."""
    value = node.of.value if isinstance(node.of, s.Literal) else None
    return isinstance(value, str) and FILTERS[node.name].apply(value) is not None


def _map(node: s.Filter, of: Type, args: list[Type]) -> Type | None:
    """Return the map that `pick`, `omit` or `merge` returns, if its fields are known."""
    if node.name == "merge" and args:
        return t.merged(of, args[0])
    chosen = _chosen(node)
    if of.fields is None or chosen is None or of.private:
        return None
    if node.name == "omit":
        kept = {name: field for name, field in of.fields.items() if name not in chosen}
        return t.map_of(kept, of.what, rest=of.rest)
    if node.name == "pick":
        picked = {name: of.fields.get(name, of.rest) for name in chosen}
        return t.map_of(
            {name: field for name, field in picked.items() if field is not None}, of.what
        )
    return None
