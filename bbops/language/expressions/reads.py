"""Find the types of the values that an expression reads: names, variables, fields, members."""

from __future__ import annotations

from bbops.base.diagnostics import Hint, ReplaceWord, article, suggest
from bbops.language.expressions import nodes as s
from bbops.language.expressions import types as t
from bbops.language.expressions.checks import Checks
from bbops.language.expressions.known import Path
from bbops.language.expressions.narrow import path_of, spelt
from bbops.language.expressions.scope import SIGNED_IN
from bbops.language.expressions.types import Type
from bbops.runtime.values.filters import FILTERS

_MOST_LISTED = 12


def check_name(at: Checks, node: s.Name) -> Type:
    """Report an unknown name and return the type of its value."""
    scope, name = at.scope, node.name
    if name in scope.roots:
        return scope.roots[name]
    if name == "vars":
        scope.reads.update(scope.known.vars)
        return _variables(at)
    if scope.columns is not None:
        if name in scope.columns:
            return scope.columns[name]
        return at.wrong(
            node.start, "unknown-column", f"table '{scope.table}' has no column '{name}'",
            _near(at, name, [*scope.columns, *scope.roots, "vars"]),
        )  # fmt: skip
    return at.wrong(
        node.start, "unknown-name", f"unknown name '{name}'",
        scope.missing.get(name) or _near(at, name, [*scope.roots, "vars"]),
    )  # fmt: skip


def _variables(at: Checks) -> Type:
    scope = at.scope
    auth = {name: scope.roots[name] for name in SIGNED_IN if name in scope.roots}
    return t.map_of({**scope.known.vars, **auth}, "vars")


def _near(at: Checks, name: str, options: list[str]) -> str:
    if name in at.scope.known.vars:
        return Hint(f"write 'vars.{name}'", ReplaceWord(name, f"vars.{name}"))
    row = at.scope.roots.get("row")
    if row is not None and name in (row.fields or {}):
        return Hint(f"write 'row.{name}'", ReplaceWord(name, f"row.{name}"))
    names = sorted(option for option in options if option not in SIGNED_IN)
    return suggest(name, names) or "known here: " + ", ".join(names)


def _check_variable(at: Checks, node: s.Member) -> Type:
    """Return the type of `vars.<name>`."""
    scope, name = at.scope, node.name
    scope.reads.add(name)
    if name in SIGNED_IN and name in scope.roots:
        return scope.roots[name]
    if name in scope.known.vars:
        return scope.known.vars[name]
    if ("vars", name) in scope.known.blamed or not scope.is_complete:
        return t.NEVER
    scope.known.blamed.add(("vars", name))  # reported once, however often it is read
    if name in scope.known.unset:
        return _unset(at, node, name, scope.known.unset[name])
    return _unknown_field(at, node, _variables(at))


def _unset(at: Checks, node: s.Member, name: str, why: str) -> Type:
    message = f"'vars.{name}' is not set on every path to this step"
    return at.wrong(node.name_start, "maybe-unset", message, why)


def check_member(at: Checks, node: s.Member) -> Type:
    """Report the mistakes of `of.name` and return the type of its value."""
    if isinstance(node.of, s.Name) and node.of.name == "vars":
        at.scope.types[id(node.of)] = Type("map", what="vars")
        return _check_variable(at, node)
    of = at.infer(node.of)
    if of.kind in {"any", "null", "map"} and of.fields is None and of.rest is None:
        found: Type | None = t.ANY
    elif of.kind != "map" and _is_blamed(at, path_of(node.of, at.scope)):
        return t.mistaken(hides=of.hides)
    elif of.kind != "map":
        return at.wrong(
            node.name_start, "no-fields", f"{article(of.kind)} has no field '{node.name}'",
            f"filters are written 'value | {node.name}'" if node.name in FILTERS else "",
            hides=of.hides,
        )  # fmt: skip
    else:
        found = (of.fields or {}).get(node.name, of.rest)
    if found is None:
        return _unknown_field(at, node, of)
    if found is of.rest and of.what == "query":
        _warn_of_undeclared(at, node, of)
    found = _hidden(found, of).as_read()
    if node.optional:
        return found.or_null() if of.nullable else found
    return _member_of_null(at, node, of, found)


def _member_of_null(at: Checks, node: s.Member, of: Type, found: Type) -> Type:
    if not t.may_be_null(of):
        return found
    path, hint = path_of(node.of, at.scope), f"write '?.{node.name}'"
    if path is not None:
        hint += f", or check '{spelt(path, at.scope)} != null' first"
    at.without_null(node.of, of, f"'.{node.name}'", hint, at=node.name_start)
    return t.mistaken(hides=found.hides)


def _unknown_field(at: Checks, node: s.Member, of: Type) -> Type:
    what, name = of.what or "this map", node.name
    if what != "vars" and _is_told(at, node, of):
        return t.mistaken(hides=of.private)
    if what == "vars" and (why := at.scope.missing.get(f"vars.{name}")):
        return _unset(at, node, name, why)
    if what == "vars":
        message, code = f"no step before this one sets 'vars.{name}'", "unknown-variable"
    elif what.startswith("table "):
        message, code = f"{what} has no column '{name}'", "unknown-column"
    elif what == "env":
        message, code = f"env variable '{name}' is not declared", "unknown-env"
    else:
        message, code = f"{what} has no field '{name}'", "unknown-field"
    hint = suggest(name, of.fields or ()) or at.scope.missing.get(what, "")
    return at.wrong(node.name_start, code, message, hint or _listed(of), hides=of.private)


def _warn_of_undeclared(at: Checks, node: s.Member, of: Type) -> None:
    """Warn of an undeclared field of a query if the other fields are declared."""
    hint = suggest(node.name, of.fields or ())
    if hint and not _is_blamed(at, ("undeclared", node.name)):
        message = f"query '{node.name}' is not declared, and so is a text or null"
        at.scope.report(at.mark, node.name_start, "undeclared-query", message, hint)


def _is_told(at: Checks, node: s.Member, of: Type) -> bool:
    """Return whether this unknown field was reported before; in an untyped value, by its name."""
    return _is_blamed(at, path_of(node if of.fields else node.of, at.scope))


def _is_blamed(at: Checks, path: Path | None) -> bool:
    """Return whether a mistake at a path was reported before, and mark it as reported."""
    if path is None or path in at.scope.known.blamed:
        return path is not None
    at.scope.known.blamed.add(path)
    return False


def check_index(at: Checks, node: s.ItemAccess) -> Type:
    """Report the mistakes of `of[key]` and return the type of its value."""
    key = node.key.value if isinstance(node.key, s.Literal) else None
    if isinstance(node.of, s.Name) and node.of.name == "vars" and isinstance(key, str):
        start = node.key.start
        return check_member(at, s.Member(node.start, node.end, node.of, key, False, start))  # noqa: FBT003 - a node's parts
    of = at.solid(node.of, "'[…]'")
    found = at.solid(node.key, "'[…]'")
    if of.kind not in {"list", "map", "any", "null"}:
        return at.wrong(
            node.start, "type", f"'[…]' needs a list or a map, got {of}",
            "to get part of a text, use '| slice(0, "
            "1)'" if of.kind == "text" else "", hides=of.hides,
        )  # fmt: skip
    wanted = {"list": "integer", "map": "text"}.get(of.kind, "any")
    if not t.fits(found, wanted):
        message = f"{article(of.kind)} takes {wanted} in '[…]', got {found}"
        return at.wrong(node.key.start, "type", message, hides=of.hides)
    if of.kind == "list":
        return _hidden((of.item or t.ANY).or_null(), of)
    if isinstance(key, str) and of.fields:
        return _hidden(of.fields.get(key, of.rest or t.ANY), of).as_read()
    return t.concealed(of.rest or t.ANY, by=[of])


def _hidden(found: Type, of: Type) -> Type:
    """Return the type of a part of a private value, which is private too."""
    return t.concealed(found, by=[of]) if of.private else found


def _listed(of: Type) -> str:
    names = sorted(of.fields or ())
    return "known here: " + ", ".join(names) if 0 < len(names) <= _MOST_LISTED else ""
